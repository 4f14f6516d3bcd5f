"""The command line: ``glsl-infer``, and ``classify`` as a shorthand.

Exit codes: 0 it worked, 1 it failed, 2 what was given cannot be used. Results go to standard output, messages
and progress to standard error.
"""

from __future__ import annotations

from collections.abc import Sequence

from glsl_infer.cli import benchmark, camera, classify, deploy, export, info, inspect, run, selfcheck, validate, vc4
from glsl_infer.cli.execution import Parser, add_debug, execute
from glsl_infer.cli.terminal_text import guarded

COMMANDS = (benchmark, camera, classify, deploy, export, info, inspect, run, selfcheck, validate, vc4)


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``glsl-infer``; return the exit code."""
    from glsl_infer import __version__

    parser = Parser(
        prog="glsl-infer",
        description="Neural networks as OpenGL ES 2.0 fragment shaders.",
    )
    parser.add_argument("-V", "--version", action="version", version=f"glsl-infer {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in COMMANDS:
        name = module.__name__.rsplit(".", 1)[1]
        summary = (module.__doc__ or "").splitlines()[0]
        sub = commands.add_parser(name, help=summary, description=summary)
        module.add_arguments(sub)
        add_debug(sub)
        sub.set_defaults(run=module.run)
    with guarded():
        return execute(parser, argv)


def main_classify(argv: Sequence[str] | None = None) -> int:
    """Run ``classify``, the shorthand of ``glsl-infer classify``; return the exit code."""
    parser = Parser(prog="classify", description=(classify.__doc__ or "").splitlines()[0])
    classify.add_arguments(parser)
    add_debug(parser)
    parser.set_defaults(run=classify.run)
    with guarded():
        return execute(parser, argv)
