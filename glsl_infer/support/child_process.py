"""Run jobs in child processes, because TensorFlow and Mesa's LLVM crash in one process (``llvm_clash``).

A job is a JSON file, and its process is ``module_command(MODULE, JOB.json)``. The process prints ``DONE`` after each
finished item. It ends like a command: with an exit code, and with ``error: ...`` at the end of standard error.

All Python modules that run in another process are started by ``module_command``. ``python -m`` would import from the
current folder first, and would execute a ``numpy.py`` that happens to be next to a model.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from glsl_infer.errors import GlslInferError, InputError, RunError

ROOT = Path(__file__).resolve().parents[2]

_START = """\
import sys
sys.path[:] = [folder for folder in sys.path if folder]  # '' is the current folder; -P exists from Python 3.11 only
root, module = sys.argv[1:3]
del sys.argv[1:3]
if root not in sys.path:
    sys.path.insert(0, root)
import runpy
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
"""First code of a child. It must import only built-in modules until the current folder is off the path."""

DONE = "done\n"
"""Line printed by a job after each finished item."""

_PUBLIC = re.compile(
    r"(PATH|HOME|LANG|LC_\w+|TMPDIR|TEMP|TMP|SYSTEMROOT|VIRTUAL_ENV|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|XDG_RUNTIME_DIR"
    r"|XDG_CACHE_HOME|(LD|DYLD|PYTHON|OMP|OPENBLAS|LIBGL|MESA|GALLIUM|LP|EGL|__EGL|__GLX|__NV|GBM|DRI|VC4|V3D"
    r"|GLSL_INFER|COVERAGE)_?\w*)\Z"
)


def public_environment() -> dict[str, str]:
    """Return the environment variables that Python, a display and a driver need; others can have secrets."""
    return {name: value for name, value in os.environ.items() if _PUBLIC.match(name)}


def module_command(module: str, *arguments: object) -> list[str]:
    """Return a command line equivalent to ``python -m``, without imports from the current folder.

    Args:
        module: full name of the module. The parent folder of this package is on the module's path.
        arguments: its command-line arguments.
    """
    return [sys.executable, "-c", _START, str(ROOT), module, *map(str, arguments)]


def last_line(messages: str) -> str:
    """Return the last line that a process wrote to standard error, which is its error, without the word ``error``."""
    lines = [line for line in messages.splitlines() if line.strip()]
    return lines[-1].removeprefix("error: ") if lines else "it said nothing"


def error_of(messages: str) -> str:
    """Return the error that a process of this package wrote last to standard error, without the word ``error``.

    It can be a list of problems, in indented lines.
    """
    error = re.search(r"^error: (.*(?:\n  .*)*)\s*\Z", messages, re.MULTILINE)
    return error[1].rstrip() if error else last_line(messages)


def json_answer(module: str, *arguments: str, seconds: float) -> dict[str, Any]:
    """Run a module in a child process and return the JSON object that it prints, for any exit code.

    Args:
        module: full name of the module.
        arguments: its command-line arguments.
        seconds: time limit.

    Returns:
        The object, or ``{"failed": reason}`` if the process crashed, exceeded the limit or printed something else.
    """
    try:
        completed = subprocess.run(
            module_command(module, *arguments), capture_output=True, text=True, errors="replace", timeout=seconds,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer after {seconds:g} s"}
    except OSError as error:
        return {"failed": str(error)}
    try:
        answer = json.loads(completed.stdout)
    except ValueError:
        how = f"ended by signal {-completed.returncode}: " if completed.returncode < 0 else ""
        return {"failed": how + last_line(completed.stderr)}
    return answer if isinstance(answer, dict) else {"failed": "an answer of another form"}


class ChildProcess:
    """A process that executes one job. The end of the ``with`` block kills it.

    Args:
        module: full name of the module to run.
        job: arguments of the job, as plain data.
        stem: path without suffix in an existing folder, for the files ``STEM.json`` and ``STEM.err``.
        activity: verb phrase for messages: "the process that ACTIVITY ended with exit code 3".
        environment: environment variables, by default those of this process.
    """

    def __init__(
        self,
        module: str,
        job: Mapping[str, Any],
        stem: Path,
        activity: str,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._activity = activity
        file = stem.with_suffix(".json")
        file.write_text(json.dumps(job), "utf-8")
        self._errors = stem.with_suffix(".err").open("w+", encoding="utf-8", errors="replace")
        self._popen = subprocess.Popen(
            module_command(module, file),
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment,
        )

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._popen.kill()
        self._popen.communicate()
        self._errors.close()

    def lines(self) -> Iterator[str]:
        """Yield a line for each finished item, until the process ends."""
        assert self._popen.stdout is not None
        return (line for line in self._popen.stdout if line == DONE)

    def finish(self) -> None:
        """Wait for the end of the process.

        Raises:
            InputError: the process refused its input; the message is that of the process.
            RunError: the process failed or crashed.
        """
        code = self._popen.wait()
        if not code:
            return
        self._errors.seek(0)
        messages = self._errors.read().strip()
        error = error_of(messages)
        if messages.endswith(f"error: {error}"):
            raise (InputError if code == InputError.exit_code else RunError)(error)
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        raise RunError(f"the process that {self._activity} {how}: {error}")


def report_progress(count: int) -> None:
    """Report finished items to the parent; called in the process of a job."""
    sys.stdout.write(DONE * count)
    sys.stdout.flush()


def execute(argv: list[str], work: Callable[[dict[str, Any]], None]) -> int:
    """Execute the job in the file ``argv[0]``; called in the process of a job. Return its exit code."""
    return exit_code_of(lambda: work(json.loads(Path(argv[0]).read_text("utf-8"))))


def exit_code_of(work: Callable[[], object]) -> int:
    """Do the work of a child process, and return its exit code. An error is printed for the parent."""
    try:
        work()
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0
