"""Show the OpenGL driver: names, limits, precision, and how the context was made."""

from __future__ import annotations

import argparse
import json
from typing import Any

from glsl_infer.gl.context import CHOICES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--context", choices=CHOICES, default="auto", help="how to get at the GPU (default: auto)")
    parser.add_argument("--json", action="store_true", help="print JSON, with the driver's extensions")


def run(args: argparse.Namespace) -> int:
    """Make a context and print what it says."""
    found = collect(args.context)
    if args.json:
        print(json.dumps(found, indent=1))
        return 0
    for key in ("glsl_infer", "python", "numpy", "pillow", "pyopengl", "machine"):
        print(f"{key:28} {found[key]}")
    for key in ("context", "vendor", "renderer", "version", "shading_language"):
        print(f"{key:28} {found[key]}")
    for refusal in found["refused"]:
        print(f"{'refused':28} {refusal}")
    for key, value in found["limits"].items():
        print(f"{key:28} {value}")
    for kind, one in found["precision"].items():
        range_ = f"2^-{one['range_low']} to 2^{one['range_high']}"
        print(f"{kind + ' float':28} {one['mantissa_bits']} bits of mantissa, {range_}")
    print(f"{'store rounds up from':28} {found['store_rounds_up_from']} of a step")
    return 0


def collect(context: str) -> dict[str, Any]:
    """Return what ``info`` shows, as plain data."""
    import platform
    from importlib.metadata import version

    from glsl_infer import __version__
    from glsl_infer.gl.context import Context
    from glsl_infer.gl.limits import describe

    with Context(context) as made:
        return {
            "glsl_infer": __version__,
            "python": platform.python_version(),
            "numpy": version("numpy"),
            "pillow": version("pillow"),
            "pyopengl": version("PyOpenGL"),
            "machine": f"{platform.system()} {platform.release()} {platform.machine()}",
            "context": made.how,
            "refused": made.refusals,
            **describe(made),
        }
