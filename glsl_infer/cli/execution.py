"""How a command reads its arguments and ends: one line for what goes wrong, and the exit code.

Those of ``glsl_infer`` and of ``training`` alike.
"""

from __future__ import annotations

import argparse
import errno
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from glsl_infer.cli import advice, interrupts
from glsl_infer.cli.terminal_text import lose, say_error
from glsl_infer.errors import BundleError, GlslInferError, InputError, ShaderError, pip_install
from glsl_infer.support.plain_text import one_line

if TYPE_CHECKING:
    from glsl_infer.runtime.isolation import Isolation

_PAIR = re.compile(r"-[0-9.][^,]*,[^,]+")

_LIST = "\n  "
"""Between the entries of a list in a message."""

_LOG_LINES, _LOG_WIDTH = 5, 200
"""What is shown of a driver's log: lines, and characters of a line."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, and which takes no abbreviations."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})
        self.register("type", Path, _path)
        self.color = False  # Python 3.14 colours its help with the control characters that we show

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments; ``-1,1`` behind an option is its value, though it begins like an option."""
        given = list(sys.argv[1:] if args is None else args)
        return super().parse_known_args(_with_pairs(given), namespace)

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with 2."""
        options = list(self._option_string_actions)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                options += [name for sub in action.choices.values() for name in sub._option_string_actions]
        say_error(f"{advice.improved(message, options)} (see {self.prog} --help)")
        self.exit(2)


def _path(text: str) -> Path:
    """Return a path. An empty one, of a variable that is not set, would be this folder."""
    if not text:
        raise argparse.ArgumentTypeError("an empty name; give a file or a folder (. is this one)")
    return Path(text)


def _with_pairs(given: list[str]) -> list[str]:
    """Return arguments in which a pair of numbers, the first of them negative, is joined to the option before it."""
    joined: list[str] = []
    for word in given:
        if _PAIR.fullmatch(word) and joined and joined[-1].startswith("--") and "=" not in joined[-1]:
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def add_debug(parser: argparse.ArgumentParser) -> None:
    """Declare ``--debug``, which ``execute`` needs."""
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")


def add_selfcheck(parser: argparse.ArgumentParser) -> None:
    """Declare ``--no-selfcheck``, for commands that check a driver before they first trust it."""
    parser.add_argument(
        "--no-selfcheck",
        action="store_true",
        help="do not check at the first use of a model on a driver that it computes every layer right",
    )
    add_isolated(parser)


def add_isolated(parser: argparse.ArgumentParser) -> None:
    """Declare ``--isolated``, for commands that draw a model."""
    parser.add_argument(
        "--isolated",
        action="store_true",
        help="let a process of its own compile and draw the model first, each time; else one does so at the first "
        "use of a model on a driver",
    )


def isolation(args: argparse.Namespace) -> Isolation:
    """Return what ``Session`` takes as ``isolated``."""
    return True if args.isolated else False if getattr(args, "no_selfcheck", False) else "first"


def add_threshold(parser: argparse.ArgumentParser) -> None:
    """Declare ``--threshold``."""
    parser.add_argument(
        "--threshold",
        type=_probability,
        default=0.0,
        metavar="P",
        help="answer 'none of these' where the best label is less probable than P, from 0 to 1 (default: 0)",
    )


def _probability(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise argparse.ArgumentTypeError(f"{text}; give a probability from 0 to 1, like 0.7")
    return number


def add_signature(parser: argparse.ArgumentParser) -> None:
    """Declare ``--require-signature``."""
    parser.add_argument(
        "--require-signature",
        metavar="KEY",
        help="refuse a model file without a signature by this public key of minisign (the key itself, or its *.pub "
        "file) in FILE.minisig beside it; needs the package cryptography",
    )


def check_signature(args: argparse.Namespace) -> None:
    """Refuse ``args.model`` where ``--require-signature`` says that it must be signed, and it is not.

    Raises:
        InputError, MissingExtraError: see ``signatures.require``.
    """
    if args.require_signature is None:
        return
    from glsl_infer.support import signatures

    if getattr(args, "task", None):
        raise InputError("--require-signature is about one model, and a task may have several; leave --task out")
    if args.model is None:
        raise InputError("--require-signature is about a file; give --model as well")
    signatures.require(args.model, args.require_signature)


def picture_size(text: str) -> tuple[int, int]:
    """Return width and height of ``WIDTHxHEIGHT``, as the ``type`` of an argument.

    Raises:
        argparse.ArgumentTypeError: it is something else, or one of them is 0.
    """
    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal() and int(width) and int(height)):
        raise argparse.ArgumentTypeError(f"{text}; give WIDTHxHEIGHT, like 640x480")
    return int(width), int(height)


_PIP_NAMES = {"numpy": "numpy", "PIL": "pillow", "h5py": "h5py"}
"""What pip calls the modules of packages that no command can do without, or that another package brings."""

_NO_NAMES = (errno.ENAMETOOLONG, errno.ELOOP)
"""What a system says of names that no file can have, wherever they are first looked at."""


def execute(parser: argparse.ArgumentParser, argv: Sequence[str] | None, *, interrupted: str = "") -> int:
    """Parse the arguments and call their ``run`` on them; whatever goes wrong becomes one line and an exit code.

    Args:
        parser: sets ``run``, and with ``add_debug`` whether errors keep their traceback.
        argv: arguments, by default the process's.
        interrupted: what to tell a person who stopped it, beside that it was.

    Returns:
        What ``run`` returns; 0 for None. 1 it failed, 2 what was given cannot be used, 130 it was interrupted.
    """
    if hasattr(sys.stdout, "reconfigure"):  # file names and labels may have what the terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    debug = False
    try:
        try:
            args = parser.parse_args(argv)
            debug = args.debug
            interrupts.as_exceptions()
            advice.refuse_urls(args)
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
    except BrokenPipeError:  # the reader of our output has all that it wanted, as `head` does
        lose(sys.stdout)
        return 0
    except MemoryError:
        if debug:
            raise
        say_error("there is not enough memory for this")
        return 1
    except ModuleNotFoundError as error:
        if debug:
            raise
        return missing_package(error)
    except OSError as error:  # a full disk behind standard output, for one
        if debug:
            raise
        lose(sys.stdout)
        if error.errno in _NO_NAMES:
            say_error(f"{error.filename!s:.100}: no file can have this name ({error.strerror}); give another")
            return InputError.exit_code
        say_error(_of_system(error))
        return 1


def missing_package(error: ModuleNotFoundError) -> int:
    """Say that a package of Python is not installed; return the exit code.

    Raises:
        ModuleNotFoundError: what is missing is no package, but a mistake of ours.
    """
    name = (error.name or "").partition(".")[0]
    if name not in _PIP_NAMES:
        raise error
    say_error(f"the Python package {_PIP_NAMES[name]} is not installed; install it: {pip_install(_PIP_NAMES[name])}")
    return InputError.exit_code


def _of_system(error: OSError) -> str:
    """Return what a system says, without its number."""
    if error.strerror is None:
        return str(error)
    if error.filename is not None:
        return f"{error.filename!s}: {error.strerror}"
    if error.errno == errno.ENOENT:  # os.getcwd's
        return "the folder that this runs in was removed; go to another one: cd FOLDER"
    return error.strerror


def _message(error: GlslInferError) -> str:
    """Return the text of an error. What was refused may have a stranger's name, which must not begin a line.

    Lists have indented lines, and the logs of a driver several, of which the first are shown.
    """
    if isinstance(error, BundleError):
        from glsl_infer.bundle.rules import named

        return one_line(str(error).replace(named(error.rule), ""))
    if isinstance(error, InputError):
        return _LIST.join(one_line(part) for part in str(error).split(_LIST))
    if not isinstance(error, ShaderError):
        return str(error)
    what, *log = str(error).splitlines()
    lines = [line if len(line) <= _LOG_WIDTH else f"{line[:_LOG_WIDTH]} ..." for line in log[:_LOG_LINES]]
    more = [f"({len(log) - _LOG_LINES} more lines of the driver: --debug shows them)"] if len(log) > _LOG_LINES else []
    return "\n".join([what, *lines, *more])
