#!/usr/bin/env python3
"""Write docs/reference/command-line.md from the parsers of the commands.

    python scripts/docs/command_reference.py            # write the page
    python scripts/docs/command_reference.py --check    # exit with 1 if the page is out of date

Needs neither a GPU nor TensorFlow.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from glsl_infer.cli import COMMANDS, classify_parser, parser_of  # noqa: E402
from glsl_infer.cli.execution import Parser, add_debug, execute  # noqa: E402

PAGE = ROOT / "docs/reference/command-line.md"

HEAD = """\
# Command line

`python scripts/docs/command_reference.py` writes this page from the parsers, so it has the same text as `--help`.
[Tools](tools.md) explains the commands with examples.

The exit code is 0 for success, 1 for a failure, and 2 for input that cannot be used. After a signal it is 128 plus the
number of the signal.

"""


def page() -> str:
    """Return the text of the page."""
    parsers = {f"glsl-infer {name}": parser for name, parser in parser_of(COMMANDS).commands.items()}
    parsers["classify"] = classify_parser()
    rows = [f"| [{name}](#{_anchor(name)}) | {_cell(parser.description or '')} |" for name, parser in parsers.items()]
    sections = [_section(name, parser) for name, parser in parsers.items()]
    return HEAD + "\n".join(["| command | purpose |", "|---|---|", *rows, "", *sections])


def _section(name: str, parser: Parser) -> str:
    lines = [f"## {name}", "", _block(parser.description)]
    lines += ["```text", parser.usage or name, "", *parser.examples, "```", ""]
    for title, arguments in parser.groups:
        rows = list(_rows(parser, arguments))
        if rows:
            lines += [f"**{title or 'Options'}**", "", "| argument | meaning |", "|---|---|", *rows, ""]
    if parser.epilog:
        lines += ["```text", parser.epilog.strip(), "```", ""]
    return "\n".join(lines)


def _rows(parser: Parser, arguments: list[argparse.Action]) -> Iterator[str]:
    formatter = argparse.HelpFormatter(parser.prog)
    for action in arguments:
        if action.help is argparse.SUPPRESS or isinstance(action, argparse._HelpAction):
            continue
        text = formatter._expand_help(action) if action.help else ""
        written = _invocation(action).replace("|", "\\|")
        yield f"| `{written}` | {_cell(text)} |"


def _invocation(action: argparse.Action) -> str:
    """Return the syntax of an argument; argparse's own text differs between versions of Python."""
    value = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest)
    if not action.option_strings:
        word = " ".join(value) if isinstance(value, tuple) else value
        return {"?": f"[{word}]", "*": f"[{word} ...]", "+": f"{word} [{word} ...]"}.get(str(action.nargs), word)
    names = ", ".join(action.option_strings)
    if action.nargs == 0:
        return names
    if not action.metavar and not action.choices:
        value = action.dest.upper()
    word = " ".join(value) if isinstance(value, tuple) else value
    return f"{names} {f'[{word}]' if action.nargs == '?' else word}"


def _block(text: str | None) -> str:
    return f"{_escaped(' '.join((text or '').split()))}\n"


def _cell(text: str) -> str:
    return _escaped(" ".join(text.split())).replace("|", "\\|")


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("*.", "\\*.")


def _anchor(name: str) -> str:
    return name.replace(" ", "-")


def main() -> int:
    """Run the script; return the exit code."""
    parser = Parser(description="Write docs/reference/command-line.md from the parsers of the commands.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is out of date")
    add_debug(parser)
    parser.set_defaults(run=_run)
    return execute(parser, None)


def _run(args: argparse.Namespace) -> int:
    text = page()
    if args.check:
        current = PAGE.read_text("utf-8") if PAGE.is_file() else ""
        if current != text:
            print(f"{PAGE.relative_to(ROOT)} is out of date: python scripts/docs/command_reference.py", file=sys.stderr)
        return int(current != text)
    PAGE.write_text(text, "utf-8")
    print(PAGE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
