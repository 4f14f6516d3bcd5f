"""Write the man pages of all commands, made from the texts of --help.

``glsl-infer manual`` writes them to the folder that ``man`` searches while this glsl-infer is on the PATH.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from glsl_infer.cli.execution import Parser
from glsl_infer.errors import InputError
from glsl_infer.support.files import writing

_WIDE = 1000
"""Characters of a usage line: man wraps lines itself."""


EXAMPLES = (
    "glsl-infer manual",
    "glsl-infer manual -o ~/.local/share/man",
    "man glsl-infer-export",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        default=Path(sys.prefix, "share", "man"),
        metavar="DIR",
        help="The folder whose subfolder man1 receives the pages (default: share/man of this environment).",
    )


def run(args: argparse.Namespace) -> int:
    """Write the pages."""
    texts = pages()
    folder = args.out / "man1"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            with writing(folder / f"{name}.1") as file:
                file.write(text.encode("utf-8"))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written to ({error.strerror or error}); give another with -o") from None
    print(f"{len(texts)} pages in {folder}: man glsl-infer; if that finds none: man -M {args.out} glsl-infer")
    return 0


def pages() -> dict[str, str]:
    """Return the text of each page by its name."""
    from glsl_infer.cli import COMMANDS, classify_parser, parser_of

    parser = parser_of(COMMANDS)
    commands = {f"glsl-infer-{name}": command for name, command in parser.commands.items()}
    see_also = (*commands, "classify")
    texts = {"glsl-infer": _page("glsl-infer", parser, see_also), "classify": _page("classify", classify_parser(), ())}
    return {**texts, **{name: _page(name, parser, ("glsl-infer",)) for name, parser in commands.items()}}


def _page(name: str, parser: Parser, see: tuple[str, ...]) -> str:
    """Return the page of a parser in the syntax of man(7). ``see`` has the pages to refer to at the end."""
    from glsl_infer import __version__

    summary = (parser.description or "").rstrip(".")
    formatter = argparse.HelpFormatter(parser.prog, width=_WIDE)
    usage = " ".join(parser.format_usage().split()).partition(": ")[2].removeprefix(parser.prog)
    lines = [
        f'.TH "{name.upper()}" "1" "" "glsl\\-infer {__version__}" "glsl\\-infer"',
        ".SH NAME",
        f"{_text(name)} \\- {_text(summary)}",
        ".SH SYNOPSIS",
        f".B {_text(parser.prog)}",
        _text(usage.strip()),
        ".SH DESCRIPTION",
        _text(f"{summary}."),
    ]
    if parser.examples:
        lines.append(".SH EXAMPLES")
        for example in parser.examples:
            lines += [".PP", f".B {_text(example)}"]
    for title, actions in parser.groups:
        lines += [f".SH {_text(title.upper())}"] if actions else []
        for action in actions:
            help_text = formatter._expand_help(action) if action.help else ""
            lines += [".TP", f".B {_text(formatter._format_action_invocation(action))}", _text(help_text)]
    lines += [".SH COMMANDS"] if parser.commands else []
    for command, options in parser.commands.items():
        lines += [".TP", f".B {_text(command)}", _text(options.description or "")]
    lines += [".SH EXIT STATUS", "0: success. 1: failure. 2: arguments or input files that cannot be used."]
    if see:
        lines += [".SH SEE ALSO", ",\n".join(f".BR {_text(page)} (1)" for page in see).replace(",\n", " ,\n")]
    return "\n".join([*lines, ""])


def _text(words: str) -> str:
    """Return text escaped for a page, so that backslashes, dashes, dots and quotes are not commands."""
    escaped = " ".join(words.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
