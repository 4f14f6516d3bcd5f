"""Show the OpenGL driver: names, limits, precision, and the ways to create a context that work here."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from glsl_infer.cli import arguments
from glsl_infer.cli.terminal_text import print_result, say_error
from glsl_infer.gl.context import WAYS

EXAMPLES = (
    "glsl-infer info",
    "glsl-infer info --context surfaceless",
    "glsl-infer info --json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.add_context(parser)
    arguments.add_json(parser, "Print JSON, with the driver's extensions.")


def run(args: argparse.Namespace) -> int:
    """Try every way to create a context and print the results; return 0 if the requested way works."""
    facts = collect(args.context)
    print_result(args, facts, _lines(facts))
    if facts["context"] is not None:
        return 0
    problem = "no OpenGL ES 2.0 context can be made" if args.context == "auto" else f"--context {args.context} fails"
    say_error(f"{problem} on this machine; the reasons are above, under 'contexts'")
    return 1


def collect(context: str) -> dict[str, Any]:
    """Return the data of ``info``. ``context`` in it is None if the requested way fails."""
    from glsl_infer.errors import ContextError
    from glsl_infer.gl.context import Context
    from glsl_infer.gl.limits import describe

    facts: dict[str, Any] = {"context": None, "contexts": {}}
    for interface in WAYS:
        try:
            with Context(interface) as opened:
                described = describe(opened)
                facts["contexts"][interface] = {"works": True, "how": opened.how, "renderer": described["renderer"]}
                if facts["context"] is None and context in ("auto", interface):
                    facts |= {"context": interface, **described}
        except ContextError as error:
            facts["contexts"][interface] = {"works": False, "reason": error.reason, "advice": error.advice}
    return facts


def _lines(facts: dict[str, Any]) -> Iterator[str]:
    for index, (interface, context) in enumerate(facts["contexts"].items()):
        text = f"works: {context['how']}, {context['renderer']}" if context["works"] else f"fails: {context['reason']}"
        yield _row("contexts" if index == 0 else "", f"{interface:12} {text}")
        if not context["works"] and context["advice"]:
            yield _row("", f"{'':12}        {context['advice']}")
    if facts["context"] is None:
        return
    for key in ("context", "vendor", "renderer", "version", "shading_language"):
        yield _row(key, facts[key])
    for key, value in facts["limits"].items():
        yield _row(key, value)
    for qualifier, precision in facts["precision"].items():
        range_ = f"2^-{precision['range_low']} to 2^{precision['range_high']}"
        yield _row(f"{qualifier} float", f"{precision['mantissa_bits']} bits of mantissa, {range_}")
    yield _row("store rounds up from", f"{facts['store_rounds_up_from']} of a step")
    yield _row("sum rounds up from", f"{facts['sum_rounds_up_from']} of its last bit")


def _row(name: str, value: object) -> str:
    return f"{name:28} {value}"
