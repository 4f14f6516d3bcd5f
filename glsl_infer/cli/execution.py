"""Argument parsing and error handling of commands: a one-line message for each error, and the exit code.

The commands of ``glsl_infer`` and of ``training`` use it.
"""

from __future__ import annotations

import argparse
import errno
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NoReturn

from glsl_infer.cli import advice, arguments, interrupts
from glsl_infer.cli.terminal_text import lose, say_error
from glsl_infer.errors import BundleError, GlslInferError, InputError, ShaderError, pip_install
from glsl_infer.support.plain_text import one_line
from glsl_infer.support.progress import check_display

_PAIR = re.compile(r"-[0-9.][^,]*,[^,]+")

_LIST_SEPARATOR = "\n  "
"""Separator of the entries of a list in a message."""

_LOG_LINES, _LOG_WIDTH = 5, 200
"""Limits of a driver's log in messages: number of lines, and characters per line."""


class _Help(argparse.HelpFormatter):
    """Help text whose paragraphs are wrapped, except those with line breaks."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" not in text:
            return super()._fill_text(text, width, indent)
        return "".join(f"{indent}{line}\n" for line in text.splitlines())


class Parser(argparse.ArgumentParser):
    """An argument parser with one-line errors, examples, and no abbreviations.

    Attributes:
        examples: command lines in the help, after the description.
        chapters: commands by the titles of their groups in the help, for a parser with commands.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": _Help, **options})
        self.examples: Sequence[str] = ()
        self.chapters: Mapping[str, Sequence[str]] = {}
        self.register("type", Path, _path)
        self._positionals.title, self._optionals.title = "Arguments", "Options"
        if "-h" in self._option_string_actions:
            self._option_string_actions["-h"].help = "Show this help."
        self.color = False  # in Python 3.14 colours are control characters, which this program escapes

    @property
    def commands(self) -> dict[str, Parser]:
        """The parsers of the commands by name; empty for the parser of a command."""
        actions = [action for action in self._actions if isinstance(action, argparse._SubParsersAction)]
        return {name: parser for action in actions for name, parser in action.choices.items()}

    @property
    def groups(self) -> list[tuple[str, list[argparse.Action]]]:
        """The title and the arguments of each group: those without a title first, rare options last."""
        ordered = sorted(self._action_groups, key=lambda group: group.title == arguments.ADVANCED)
        is_command = argparse._SubParsersAction
        return [
            (group.title or "", [action for action in group._group_actions if not isinstance(action, is_command)])
            for group in ordered
        ]

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments. ``-1,1`` after an option is its value, although it begins like an option."""
        arguments = list(sys.argv[1:] if args is None else args)
        return super().parse_known_args(_with_pairs(arguments), namespace)

    def format_help(self) -> str:
        """Return the help: usage, a sentence, examples, then arguments and options by group."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        if self.examples:
            formatter.start_section("Examples")
            formatter.add_text("\n".join(self.examples) + "\n")
            formatter.end_section()
        if self.chapters:
            (commands,) = (action for action in self._actions if isinstance(action, argparse._SubParsersAction))
            by_name = {choice.dest: choice for choice in commands._choices_actions}
            for title, names in self.chapters.items():
                formatter.start_section(title)
                formatter.add_arguments([by_name[name] for name in names if name in by_name])
                formatter.end_section()
        for title, actions in self.groups:
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with 2."""
        options = dict(self._option_string_actions)
        commands = list(self.commands.values())
        for command in commands:
            options.update(command._option_string_actions)
        names = {name: name if name in action.option_strings else _long(action) for name, action in options.items()}
        parser = commands[0] if len(commands) == 1 else self
        usage = f"usage: {parser.usage}" if parser.usage else " ".join(parser.format_usage().split())
        formatter = self._get_formatter()
        forms = {
            "/".join(action.option_strings): f"{action.option_strings[-1]} "
            f"{formatter._format_args(action, action.dest.upper())}"
            for action in self._actions
            if action.option_strings and action.nargs != 0
        }
        say_error(f"{advice.improved(message, names, usage, forms)} (see {parser.prog} --help)")
        self.exit(2)


def _long(action: argparse.Action) -> str:
    return max(action.option_strings, key=len)


def usage_of(parser: argparse.ArgumentParser, prog: str) -> str:
    """Return the usage of a command: its arguments and required options. The help lists the others."""
    words = [prog]
    actions = parser._actions
    if any("--model" in action.option_strings for action in actions):
        words.append("[MODEL.glslnn]")
    for action in actions:
        metavar = action.metavar if isinstance(action.metavar, str) else "|".join(map(str, action.choices or ()))
        if action.option_strings and action.required:
            words.append(f"{action.option_strings[0]} {metavar}")
        elif not action.option_strings:
            several = f"{metavar} ..." if action.nargs in ("*", "+") else metavar
            words.append(f"[{several}]" if action.nargs in ("?", "*") and metavar != "IMAGE" else several)
    return " ".join([*words, "[options]"])


def _path(text: str) -> Path:
    """Return a path. An empty text, such as an unset variable, is refused: it would be the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty; give a file or a folder (. is the current folder)")
    return Path(text)


def _with_pairs(arguments: list[str]) -> list[str]:
    """Return the arguments with each pair of numbers whose first is negative merged into the option before it."""
    result: list[str] = []
    for word in arguments:
        if _PAIR.fullmatch(word) and result and result[-1].startswith("--") and "=" not in result[-1]:
            result[-1] += f"={word}"
        else:
            result.append(word)
    return result


def add_debug(parser: argparse.ArgumentParser) -> None:
    """Declare ``--debug``, which ``execute`` needs."""
    parser.add_argument("--debug", action="store_true", help="Show the traceback of an error.")


def add_selfcheck(parser: argparse.ArgumentParser) -> None:
    """Declare ``--no-selfcheck``, for commands with a self-check at the first use of a model on a driver."""
    arguments.group(parser, arguments.GPU).add_argument(
        "--no-selfcheck",
        action="store_true",
        help="Skip the check that the driver computes every layer correctly. The check runs at the first use of a "
        "model on a driver.",
    )
    add_isolated(parser)


def add_isolated(parser: argparse.ArgumentParser) -> None:
    """Declare ``--isolated``, for commands that draw a model."""
    arguments.group(parser, arguments.ADVANCED).add_argument(
        "--isolated",
        action="store_true",
        help="At every start, first compile and run the model in a separate process, so that a crash of the driver "
        "does not end this one (default: only at the first use of a model on a driver).",
    )


def add_threshold(parser: argparse.ArgumentParser) -> None:
    """Declare ``--threshold``."""
    parser.add_argument(
        "--threshold",
        type=arguments.number(float, "a probability from 0 to 1, like 0.7", lambda share: 0.0 <= share <= 1.0),
        metavar=arguments.SHARE,
        help="Answer 'none of these' if the best label is less probable than this; 0 for a label in any case (default: "
        "the rule of the model, if it has one). The answer is the first line, before more probable labels.",
    )


def add_signature(parser: argparse.ArgumentParser) -> None:
    """Declare ``--require-signature``."""
    arguments.group(parser, arguments.ADVANCED).add_argument(
        "--require-signature",
        metavar="KEY",
        help="Refuse a model file without a signature by this public key of minisign (the key itself, or its *.pub "
        "file) in FILE.minisig in the same folder. Needs the package cryptography.",
    )


def check_signature(args: argparse.Namespace) -> None:
    """Refuse an unsigned ``args.model`` if ``--require-signature`` is given.

    Raises:
        InputError, MissingExtraError: as in ``signatures.require``.
    """
    if args.require_signature is None:
        return
    from glsl_infer.support import signatures

    if getattr(args, "task", None):
        raise InputError("--require-signature checks one model, and a task can have several; leave --task out")
    if args.model is None:
        raise InputError("--require-signature checks a file; give --model as well")
    signatures.require(args.model, args.require_signature)


def check_window(args: argparse.Namespace) -> None:
    """Refuse arguments that a window does not allow, and ``--screenshot`` without one.

    Raises:
        InputError: arguments are incompatible, or the screenshot cannot be written.
    """
    if args.screenshot is not None and not args.window:
        raise InputError("--screenshot needs --window; give both")
    if args.window and args.json:
        raise InputError("--window and --json cannot be used together; leave one out")
    if args.window and args.context not in ("auto", "glfw"):
        raise InputError(f"--window uses the context of the window; leave --context {args.context} out")
    if args.screenshot is not None:
        from glsl_infer.support.files import check_output

        check_output(args.screenshot, ".png", option="--screenshot")


def picture_size(text: str) -> tuple[int, int]:
    """Return width and height of ``WIDTHxHEIGHT``, as the ``type`` of an argument.

    Raises:
        argparse.ArgumentTypeError: the text has another form, or a size is 0.
    """
    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal() and int(width) and int(height)):
        raise argparse.ArgumentTypeError(f"{text}; give WIDTHxHEIGHT, like 640x480")
    return int(width), int(height)


_PIP_NAMES = {"numpy": "numpy", "PIL": "pillow", "h5py": "h5py"}
"""Names in pip of required modules, and of modules that other packages install."""

_NO_NAMES = (errno.ENAMETOOLONG, errno.ELOOP)
"""System errors for names that files cannot have. They can occur at any access."""


def execute(parser: argparse.ArgumentParser, argv: Sequence[str] | None, *, interrupted: str = "") -> int:
    """Parse the arguments and call their ``run``. Every error becomes one line and an exit code.

    Args:
        parser: sets ``run``, and with ``add_debug`` the option to show tracebacks.
        argv: arguments; default: those of the process.
        interrupted: message for a user who interrupts the command, after the word "interrupted".

    Returns:
        The result of ``run``, or 0 for None; 1 for a failure, 2 for invalid input, 130 for an interrupt.
    """
    if hasattr(sys.stdout, "reconfigure"):  # names and labels can have characters that the terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    debug = False
    try:
        try:
            args = parser.parse_args(argv)
            debug = args.debug
            Path.cwd()  # raises if the folder was removed
            interrupts.as_exceptions()
            advice.refuse_urls(args)
            advice.fetched_models(args)
            from glsl_infer.runtime.sandbox_mode import sandboxing  # a list of commands starts sooner without it

            check_display.set(_checking)
            with sandboxing(getattr(args, "isolated", False) or "first"):
                code: int | None = args.run(args)
            return code or 0
        finally:
            sys.stdout.flush()
    except GlslInferError as error:
        if debug:
            raise
        say_error(_message(error))
        return error.exit_code
    except KeyboardInterrupt:
        print(f"interrupted; {interrupted}" if interrupted else "interrupted", file=sys.stderr)
        return interrupts.CODE
    except BrokenPipeError:  # the reader of standard output, such as `head`, has ended
        lose(sys.stdout)
        return 0
    except MemoryError:
        if debug:
            raise
        say_error("not enough memory")
        return 1
    except ModuleNotFoundError as error:
        if debug:
            raise
        return missing_package(error)
    except OSError as error:  # for example a full disk under standard output
        if debug:
            raise
        lose(sys.stdout)
        if error.errno in _NO_NAMES:
            say_error(f"{error.filename!s:.100}: a file cannot have this name ({error.strerror}); give another name")
            return InputError.exit_code
        say_error(_of_system(error))
        return 1


def _checking(total: int) -> AbstractContextManager[Callable[[int], object]]:
    from glsl_infer.cli import progress  # imported here because most starts show no progress

    return progress.checking(total)


def missing_package(error: ModuleNotFoundError) -> int:
    """Print that a Python package is not installed; return the exit code.

    Raises:
        ModuleNotFoundError: the missing module is not one of these packages, which is a bug.
    """
    name = (error.name or "").partition(".")[0]
    if name not in _PIP_NAMES:
        raise error
    say_error(f"the Python package {_PIP_NAMES[name]} is not installed; install it: {pip_install(_PIP_NAMES[name])}")
    return InputError.exit_code


def _of_system(error: OSError) -> str:
    """Return the message of a system error, without its number."""
    if error.strerror is None:
        return str(error)
    if error.filename is not None:
        return f"{error.filename!s}: {error.strerror}"
    if error.errno == errno.ENOENT:  # from os.getcwd
        return "the folder that this runs in was removed; go to another one: cd FOLDER"
    return error.strerror


def _message(error: GlslInferError) -> str:
    """Return the text of an error. Names in a refused file are untrusted and must not begin a line.

    Lists have indented lines. The log of a driver is limited to its first lines.
    """
    if isinstance(error, BundleError):
        from glsl_infer.bundle.rules import without_rule

        return one_line(advice.with_file_name(without_rule(error)))
    if isinstance(error, InputError):
        return _LIST_SEPARATOR.join(one_line(line) for line in advice.with_file_name(str(error)).split(_LIST_SEPARATOR))
    if not isinstance(error, ShaderError):
        return str(error)
    message, *log = str(error).splitlines()
    lines = [line if len(line) <= _LOG_WIDTH else f"{line[:_LOG_WIDTH]} ..." for line in log[:_LOG_LINES]]
    more = [f"({len(log) - _LOG_LINES} more lines of the driver: --debug shows them)"] if len(log) > _LOG_LINES else []
    return "\n".join([message, *lines, *more])
