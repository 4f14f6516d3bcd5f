"""Commands in unusual environments: closed standard streams, Ctrl-C during imports, pipes instead of files."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run
from PIL import Image
from tiny import tiny_picture, write_tiny

from glsl_infer.support.child_process import ROOT


@pytest.fixture
def argv(tmp_path: Path) -> list[str]:
    """The command line for the classification of an image."""
    Image.fromarray(tiny_picture(3)).save(tmp_path / "photo.png")
    return ["classify", "--model", str(write_tiny(tmp_path)), str(tmp_path / "photo.png")]


def ended(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command, and return the completed process."""
    return subprocess.run(
        ["sh", "-c", command],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def words(*text: str) -> str:
    return shlex.join([sys.executable, *text])


@pytest.mark.parametrize("closed", [">&-", "<&- >&-"])
def test_closed_standard_output_is_reported_in_one_line(argv: list[str], closed: str) -> None:
    done = ended(f"{words('-m', 'glsl_infer', *argv)} {closed}")
    assert done.returncode == 1
    assert done.stderr == "error: standard output is closed; give it a file, or /dev/null\n"


@pytest.mark.parametrize("closed", ["2>&-", "<&- 2>&-"])
def test_commands_work_without_standard_error(argv: list[str], closed: str) -> None:
    command = words("-m", "glsl_infer", *argv)
    done = ended(f"{command} {closed}")
    assert (done.returncode, done.stdout.count("%"), done.stderr) == (0, 3, "")
    assert ended(f"{command} nowhere.png {closed}").returncode == 2


def test_no_file_takes_the_number_of_a_closed_stream(argv: list[str], tmp_path: Path) -> None:
    """A file does not get the number of a closed stream, or it would receive the output of the driver's libraries."""
    table = tmp_path / "out.csv"
    done = ended(f"{words('-m', 'glsl_infer', *argv, '--csv', str(table), '--json')} <&- >&- 2>&-")
    assert done.returncode == 1
    assert [line.split(",")[0] for line in table.read_text().splitlines()] == ["file", str(tmp_path / "photo.png")]


STOPPED_AT = """
import os, signal, sys
module = sys.argv.pop(1)
class Stop:
    @staticmethod
    def find_spec(name, path, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Stop)
from glsl_infer.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    "module", ["argparse", "numpy", "PIL.Image", "glsl_infer.gl.egl", "glsl_infer.runtime.session"]
)
def test_an_interruption_during_the_start_is_one_line(argv: list[str], module: str) -> None:
    done = ended(words("-c", STOPPED_AT, module, *argv))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_pipes_in_the_cache_are_not_waited_for(argv: list[str], tmp_path: Path) -> None:
    command, cache = words("-m", "glsl_infer", *argv), tmp_path / "cache"
    first = ended(command, GLSL_INFER_CACHE=str(cache))
    assert first.returncode == 0, first.stderr
    items = sorted(cache.iterdir())
    assert {path.suffix for path in items} == {".checked", ".passed", ".programs"}
    for path in items:
        path.unlink()
        os.mkfifo(path)
    later = ended(command, GLSL_INFER_CACHE=str(cache))
    assert (later.returncode, later.stdout, later.stderr) == (0, first.stdout, "")


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".json", ".csv", ".png"])
def test_pipes_as_inputs_are_refused(tmp_path: Path, suffix: str) -> None:
    pipe = tmp_path / f"pipe{suffix}"
    os.mkfifo(pipe)
    bundle = ROOT / "tests/conformance/numbers.glslnn"
    arguments = [str(pipe)] if suffix == ".npz" else [f"{name}={pipe}" for name in ("depth", "heat", "speed")]
    options = [word for argument in arguments for word in ("--input", argument)]
    done = run("run", bundle, *options, "-o", tmp_path / "out.npz")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert suffix == ".png" or "is a pipe; give a file" in done.stderr
