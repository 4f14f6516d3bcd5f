"""Check this machine's driver: a built-in picture through every layer of a model."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from glsl_infer.cli.terminal_text import print_lines
from glsl_infer.gl.context import CHOICES

if TYPE_CHECKING:
    from glsl_infer.runtime.selfcheck import SelfCheck


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "model",
        type=Path,
        nargs="?",
        metavar="MODEL.glslnn",
        help="an exported model (default: the model that comes with the package)",
    )
    parser.add_argument("--context", choices=CHOICES, default="auto", help="how to get at the GPU (default: auto)")
    parser.add_argument("--json", action="store_true", help="print JSON: driver, every layer's error, what to try")


def run(args: argparse.Namespace) -> int:
    """Check every layer, print a table, and fail with what to try where one is wrong."""
    from glsl_infer.runtime import selfcheck
    from glsl_infer.runtime.session import Session
    from glsl_infer.support.resources import default_model

    with Session(default_model() if args.model is None else args.model, context=args.context) as session:
        found, file = selfcheck.check(session), session.bundle.path
    if args.json:
        print(json.dumps({"file": str(file), **found.as_json()}, indent=1))
    else:
        print_lines(_text(found))
    found.require()
    return 0


def _text(found: SelfCheck) -> list[str]:
    """Return the lines for people; errors are in stored steps."""
    lines = [f"{name:18} {text}" for name, text in found.driver.items()]
    wide = max([5, *(len(one.layer) for one in found.layers)])
    lines += ["", f"{'layer':{wide}} {'max':>7} {'allowed':>7} {'mean':>7} {'allowed':>7} {'texels':>6}"]
    lines += [
        f"{one.layer:{wide}} {one.worst:7g} {one.allowed.max_error:7.3g} {one.mean:7.3f} {one.allowed.mean_error:7.3f} "
        f"{one.allowed.count:6}{'' if one.passed else '  WRONG'}"
        for one in found.layers
    ]
    if found.whole_frame is not None:
        wrong = "" if found.whole_frame <= found.whole_frame_allowed else "  WRONG"
        lines += ["", f"whole frame: off by {found.whole_frame:g}, allowed {found.whole_frame_allowed:g}{wrong}"]
    if found.wrong is None:
        lines += ["", f"all {len(found.layers)} layers are right on this driver"]
    return lines
