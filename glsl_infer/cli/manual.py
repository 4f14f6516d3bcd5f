"""Write man pages of all commands, from the texts of --help.

``glsl-infer manual`` writes them where ``man glsl-infer-export`` looks while this glsl-infer is on the PATH.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from glsl_infer.errors import InputError
from glsl_infer.support.files import writing

_WIDE = 1000
"""Characters of a line of usage: man breaks lines itself."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        default=Path(sys.prefix, "share", "man"),
        metavar="DIR",
        help="the folder whose man1/ the pages go to (default: share/man beside this command's folder)",
    )


def run(args: argparse.Namespace) -> int:
    """Write the pages."""
    made = pages()
    folder = args.out / "man1"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in made.items():
            with writing(folder / f"{name}.1") as file:
                file.write(text.encode("utf-8"))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written to ({error.strerror or error}); give another with -o") from None
    print(f"{len(made)} pages in {folder}: man glsl-infer; if that finds none: man -M {args.out} glsl-infer")
    return 0


def pages() -> dict[str, str]:
    """Return the text of each page by its name."""
    from glsl_infer.cli import COMMANDS, classify_parser, parser_of

    whole = parser_of(COMMANDS)
    commands = {f"glsl-infer-{name}": parser for name, parser in _commands(whole).items()}
    others = (*commands, "classify")
    made = {"glsl-infer": _page("glsl-infer", whole, others), "classify": _page("classify", classify_parser(), ())}
    return {**made, **{name: _page(name, parser, ("glsl-infer",)) for name, parser in commands.items()}}


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (actions,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(actions.choices)


def _page(name: str, parser: argparse.ArgumentParser, see: tuple[str, ...]) -> str:
    """Return the page of a parser, in the language of man(7); ``see``: pages to name at the end."""
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
    for title, positional in (("ARGUMENTS", True), ("OPTIONS", False)):
        actions = [
            action
            for action in parser._actions
            if positional is not bool(action.option_strings) and not isinstance(action, argparse._SubParsersAction)
        ]
        lines += [f".SH {title}"] if actions else []
        for action in actions:
            said = formatter._expand_help(action) if action.help else ""
            lines += [".TP", f".B {_text(formatter._format_action_invocation(action))}", _text(said)]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            lines.append(".SH COMMANDS")
            for choice in action._choices_actions:
                lines += [".TP", f".B {_text(choice.dest)}", _text(choice.help or "")]
    lines += [".SH EXIT STATUS", "0 it worked, 1 it failed, 2 what was given cannot be used."]
    if see:
        lines += [".SH SEE ALSO", ",\n".join(f".BR {_text(page)} (1)" for page in see).replace(",\n", " ,\n")]
    return "\n".join([*lines, ""])


def _text(words: str) -> str:
    """Return words as they stand in a page: no backslash, dash, dot or quote is a command."""
    escaped = " ".join(words.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
