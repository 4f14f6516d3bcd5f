"""Compare this machine's driver with the exact reference, layer by layer."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from glsl_infer.cli import arguments, model_options
from glsl_infer.cli.execution import add_isolated
from glsl_infer.cli.terminal_text import print_result

if TYPE_CHECKING:
    from glsl_infer.runtime.selfcheck import SelfCheck


EXAMPLES = (
    "glsl-infer selfcheck",
    "glsl-infer selfcheck model.glslnn",
    "glsl-infer selfcheck model.glslnn --json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.add_only_model(parser)
    arguments.add_context(parser)
    model_options.add_operator(parser)
    add_isolated(parser)
    arguments.add_json(parser, "Print JSON: driver, the error of every layer, and advice.")


def run(args: argparse.Namespace) -> int:
    """Check every layer and print a table. If a layer is wrong, fail with advice."""
    from glsl_infer.runtime import selfcheck
    from glsl_infer.runtime.session import Session
    from glsl_infer.support.resources import default_model

    model_options.load_operators(args.operator, draws=True)
    model = default_model() if args.model is None else args.model
    with Session(model, context=args.context) as session:
        result, file = selfcheck.check(session), session.bundle.path
    print_result(args, {"file": str(file), **result.as_json()}, _text(result))
    result.require()
    return 0


def _text(result: SelfCheck) -> list[str]:
    """Return the text output as lines. Errors are in stored steps."""
    lines = [f"{name:18} {text}" for name, text in result.driver.items()]
    name_width = max([5, *(len(layer.layer) for layer in result.layers)])
    lines += ["", f"{'layer':{name_width}} {'max':>7} {'allowed':>7} {'mean':>7} {'allowed':>7} {'texels':>6}"]
    lines += [
        f"{layer.layer:{name_width}} {layer.worst:7g} {layer.allowed.max_error:7.3g} {layer.mean:7.3f} "
        f"{layer.allowed.mean_error:7.3f} {layer.allowed.count:6}{'' if layer.passed else '  WRONG'}"
        for layer in result.layers
    ]
    if result.outputs:
        lines.append("")
    for output in result.outputs:
        wrong = "" if output.passed else "  WRONG"
        lines.append(f"whole frame, {output.output}: off by {output.error:g}, allowed {output.allowed:g}{wrong}")
    if result.wrong is None:
        lines += ["", f"this driver computes all {len(result.layers)} layers correctly"]
    return lines
