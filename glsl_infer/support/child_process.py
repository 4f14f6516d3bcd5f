"""Work in a process of its own: TensorFlow and Mesa's LLVM crash in one (``llvm_clash``).

A job is a JSON file; the process is ``module_command(MODULE, JOB.json)``. It prints a line for each thing that is done,
and ends as a command does: with an exit code, and ``error: ...`` as its last words on standard error.

Every Python module that runs in another process is started by ``module_command``: ``python -m`` would import from the
current folder first, and so execute a ``numpy.py`` that lies beside somebody's model.
"""

from __future__ import annotations

import json
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
"""What a child executes. Until the current folder is off the path it may import nothing but what is built in."""

DONE = "done\n"
"""The line that a process prints for each thing that is done."""


def module_command(module: str, *arguments: object) -> list[str]:
    """Return the command line that runs a module as ``python -m`` does, but imports nothing from the current folder.

    Args:
        module: its full name; the folder that this package is in is on the module's path.
        arguments: for the module.
    """
    return [sys.executable, "-c", _START, str(ROOT), module, *map(str, arguments)]


def json_answer(module: str, *arguments: str, seconds: float) -> dict[str, Any]:
    """Run a module in a process of its own and return the JSON object that it prints, whatever its exit code.

    Args:
        module: its full name.
        arguments: for the module.
        seconds: the time limit.

    Returns:
        The object, or ``{"failed": reason}`` if the process crashed, took too long or printed something else.
    """
    try:
        done = subprocess.run(
            module_command(module, *arguments), capture_output=True, text=True, errors="replace", timeout=seconds,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer after {seconds:g} s"}
    except OSError as error:
        return {"failed": str(error)}
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        how = f"ended by signal {-done.returncode}: " if done.returncode < 0 else ""
        return {"failed": how + lines[-1].removeprefix("error: ")}
    return answer if isinstance(answer, dict) else {"failed": "an answer of another form"}


class ChildProcess:
    """A process that does one job; it does not outlive its ``with`` block.

    Args:
        module: what to run.
        job: what it is told, as plain data.
        stem: a path without suffix in a folder that exists: its files are ``STEM.json`` and ``STEM.err``.
        what: what it does, for messages: "the process that WHAT ended by itself".
        environment: its environment variables, by default this process's.
    """

    def __init__(
        self,
        module: str,
        job: Mapping[str, Any],
        stem: Path,
        what: str,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._what = what
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
        """Yield a line for each thing that is done, until the process ends."""
        assert self._popen.stdout is not None
        return (line for line in self._popen.stdout if line == DONE)

    def finish(self) -> None:
        """Wait for its end.

        Raises:
            InputError: what it was given cannot be used; the message is its own.
            RunError: it failed or crashed.
        """
        code = self._popen.wait()
        if not code:
            return
        self._errors.seek(0)
        said = self._errors.read().strip()
        last = said.splitlines()[-1] if said else "it said nothing"
        if code == InputError.exit_code and last.startswith("error: "):
            raise InputError(last[len("error: ") :])
        if last.startswith("error: "):
            raise RunError(last[len("error: ") :])
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        raise RunError(f"the process that {self._what} {how}: {last}")


def tell(count: int) -> None:
    """Say, in the process of a job, that so many things more are done."""
    sys.stdout.write(DONE * count)
    sys.stdout.flush()


def execute(argv: list[str], work: Callable[[dict[str, Any]], None]) -> int:
    """Do the job in the file ``argv[0]``, in its process; return the exit code."""
    try:
        work(json.loads(Path(argv[0]).read_text("utf-8")))
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0
