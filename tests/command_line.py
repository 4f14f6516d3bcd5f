"""Commands run in the test's own process, with the result of ``subprocess.run``.

A separate process takes half a second for imports, and five with TensorFlow. It is only needed in tests about the
process: signals, its own streams, imports, crashes, limits, and its exit.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Union

import pytest

from glsl_infer.cli import main
from glsl_infer.support.child_process import ROOT

Capture = pytest.CaptureFixture[str]
Done = subprocess.CompletedProcess[str]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)


def refused(capsys: Capture, argv: list[object], code: int = 2) -> str:
    """Run a failing command, and return its message: one line, with an empty standard output."""
    assert code_of(main, [str(word) for word in argv]) == code
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("error: ")
    assert output.err.count("\n") == 1
    assert output.err.endswith("\n")
    return output.err


def run(
    *argv: object,
    entry_point: Callable[[Sequence[str]], Union[int, None]] = main,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Done:
    """Run a command line in this process.

    Args:
        argv: arguments, without the program.
        entry_point: a function from the arguments to the exit code; default ``glsl-infer``.
        folder: current folder during the run.
        environment: variables to set during the run.
    """
    words = [str(word) for word in argv]
    with restored(folder, environment), _captured() as streams:
        code = code_of(entry_point, words)
    return subprocess.CompletedProcess(words, code, *(stream.getvalue().decode("utf-8") for stream in streams))


def run_script(script: Path, *argv: object, folder: Path | None = None) -> Done:
    """Run a Python script in this process, as ``python SCRIPT`` does, but with the loaded modules.

    Modules imported from the script's folder are unloaded afterwards, because two folders may have modules with the
    same name.
    """

    def execute(words: Sequence[str]) -> int:
        import runpy

        before = set(sys.modules)
        sys.argv[:] = [str(script), *words]
        sys.path.insert(0, str(script.parent))
        try:
            runpy.run_path(str(script), run_name="__main__")
        finally:
            for name in set(sys.modules) - before:
                file = getattr(sys.modules[name], "__file__", None)
                if file and Path(file).resolve().is_relative_to(script.resolve().parent):
                    del sys.modules[name]
        return 0

    return run(*argv, entry_point=execute, folder=folder)


def run_python(
    *arguments: object,
    text: str | None = None,
    folder: Path | str | None = None,
    check: bool = False,
    timeout: float = 300.0,
    **environment: str,
) -> Done:
    """Run Python in a process of its own, which imports the package of this checkout.

    Args:
        arguments: arguments of ``python``.
        text: its standard input; by default that of this process.
        folder: its current folder.
        check: raises ``CalledProcessError`` if the process fails.
        timeout: its longest duration in seconds.
        environment: additional variables.
    """
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        input=text, cwd=folder, capture_output=True, encoding="utf-8", check=check, timeout=timeout,
    )  # fmt: skip


def run_in_child(*commands: Sequence[object], before: str = "", **environment: str) -> list[Done]:
    """Run command lines of ``glsl-infer`` one after the other in one child process.

    Args:
        commands: the arguments of each.
        before: Python code to execute first.
        environment: additional variables of the process.
    """
    lines = json.dumps([[str(word) for word in argv] for argv in commands])
    program = (
        f"{before}\nimport json, sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from command_line import run\n"
        f"done = [run(*argv) for argv in json.loads({lines!r})]\n"
        "print(json.dumps([[one.args, one.returncode, one.stdout, one.stderr] for one in done]))"
    )
    child = run_python("-c", program, check=True, **environment)
    return [subprocess.CompletedProcess(*load) for load in json.loads(child.stdout.splitlines()[-1])]


@contextlib.contextmanager
def restored(folder: Path | None = None, environment: Mapping[str, str] | None = None) -> Iterator[None]:
    """Restore environment, folder, ``sys`` and signal handlers afterwards, which a command can change."""
    here, variables = Path.cwd(), dict(os.environ)
    argv, path, hook, limit = sys.argv[:], sys.path[:], sys.excepthook, sys.getrecursionlimit()
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        os.environ.update(environment or {})
        if folder is not None:
            os.chdir(folder)
        yield
    finally:
        os.chdir(here)
        for name in set(os.environ) - set(variables):
            del os.environ[name]
        os.environ.update({name: value for name, value in variables.items() if os.environ.get(name) != value})
        sys.argv[:], sys.path[:], sys.excepthook = argv, path, hook
        sys.setrecursionlimit(limit)
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _captured() -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """Capture both streams; code that writes bytes can use ``buffer``, as in a process."""
    raw = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(stream, "utf-8", errors="backslashreplace", write_through=True) for stream in raw)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            yield raw
        finally:
            out.flush()
            err.flush()
            out.detach()
            err.detach()


def code_of(entry_point: Callable[[Sequence[str]], Any], words: Sequence[str]) -> int:
    """Return the exit code of a command; argparse ends it by ``SystemExit``."""
    try:
        return int(entry_point(words) or 0)
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
            return 1
        return int(ended.code or 0)
