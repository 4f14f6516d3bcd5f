"""Detection of presence with hysteresis, and reactions to an appearance: a snapshot, a command."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import threading
from datetime import datetime
from pathlib import Path

from PIL import Image

from glsl_infer.errors import InputError
from glsl_infer.support.files import output
from glsl_infer.support.plain_text import one_line

APPEARED, LEFT = "appeared", "left"


class Presence:
    """State of presence over frames; single frames that differ do not change it.

    Args:
        appear_after: number of successive positive frames until ``appeared``.
        leave_after: number of successive negative frames until ``left``.
    """

    def __init__(self, appear_after: int, leave_after: int) -> None:
        self._needed = {False: appear_after, True: leave_after}
        self._present, self._other = False, 0

    def update(self, present: bool) -> str | None:
        """Return ``appeared`` or ``left`` if a frame changes the state, else None."""
        self._other = 0 if present == self._present else self._other + 1
        if self._other < self._needed[self._present]:
            return None
        self._present, self._other = present, 0
        return APPEARED if present else LEFT


class Reaction:
    """Reaction to an appearance.

    Args:
        command: path of a program, or a command that is split as a shell splits it but runs without a shell. It runs in
            the background and is not started again before it ends. ``GLSL_INFER_SNAPSHOT`` is the snapshot's path.
        folder: folder of snapshots, JPEG files named by date and time; it is created if missing.
        option: option of the command line, for messages.

    Raises:
        InputError: the command is invalid, or the folder cannot be created.

    A warning reports a program that does not exist or is not executable.
    """

    def __init__(self, command: str | None, folder: Path | None, option: str = "--on-appear") -> None:
        self._option = option
        self._words = _words(command, option)
        if self._words and shutil.which(self._words[0]) is None:
            print(one_line(f"warning: {option} {_not_a_program(self._words)}"), file=sys.stderr)
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"--snapshot {folder}: no such folder can be made ({error.strerror})") from None

    def appeared(self, picture: Image.Image | None) -> Path | None:
        """React; return the snapshot if there is one. A command that cannot be started is reported on standard error.

        Raises:
            InputError: the snapshot cannot be written.
        """
        path = None if self._folder is None or picture is None else _written(picture, self._folder)
        if not self._words:
            return path
        if self._process is not None and self._process.poll() is None:
            print(f"note: the command of {self._option} still runs; it is not started again", file=sys.stderr)
            return path
        environment = {**os.environ, **({} if path is None else {"GLSL_INFER_SNAPSHOT": str(path.absolute())})}
        try:
            self._process = subprocess.Popen(self._words, env=environment, stdin=subprocess.DEVNULL, stdout=2)
            threading.Thread(target=self._process.wait, name="on-appear", daemon=True).start()  # reaps the process
        except (OSError, ValueError) as error:
            print(one_line(f"warning: {self._option}: {self._words[0]} cannot be started ({error})"), file=sys.stderr)
        return path


def _words(command: str | None, option: str) -> list[str]:
    """Return the program and its arguments; the path of an existing file is a program, whatever its name contains."""
    if command is None:
        return []
    if _is_file(command):
        return [command]
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"{option} {command}: is not a command ({error})") from None
    if not words:
        raise InputError(f"{option}: the command is empty; give a program and its arguments")
    return words


def _is_file(text: str) -> bool:
    """Return whether a text of any length is the path of a file."""
    return os.path.isfile(text)  # noqa: PTH113 -- Path.is_file raises for names that are too long


def _not_a_program(words: list[str]) -> str:
    """Return why the first word of a command cannot be started, with the fix."""
    program = words[0]
    if _is_file(program):
        if os.access(program, os.X_OK):  # in this folder, and the command has no folder
            return f"{program}: no such program; for the file in this folder, give ./{program}"
        return f"{program}: is not executable; make it so: chmod +x {shlex.quote(program)}"
    quotes = "; a path with spaces needs quotes: '\"./my ring.sh\" hall'" if len(words) > 1 else ""
    if Path(program).name != program:
        return f"{program}: no such file{quotes}"
    return f"{program}: no such program; give the path of a program, such as ./ring.sh{quotes}"


def _written(picture: Image.Image, folder: Path) -> Path:
    path = folder / f"{datetime.now():%Y-%m-%d_%H-%M-%S-%f}.jpg"
    with output(path) as file:
        picture.save(file, "JPEG", quality=90)
    return path
