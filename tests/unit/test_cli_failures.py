"""Failures of commands: exit codes 1 and 130, broken pipes, full disks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Capture, refused, run_python

import glsl_infer
from glsl_infer.cli import classify, main, main_classify
from glsl_infer.cli.execution import Parser, add_debug, execute
from glsl_infer.errors import ImageError, InputError, RunError, ShaderError, pip_install


def raising(error: BaseException) -> Callable[[object], int]:
    def run(args: object) -> int:
        raise error

    return run


def test_failures_exit_with_1(capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for error in (RunError("the driver failed"), ShaderError("layer 'a': it failed"), OSError(28, "No space left")):
        monkeypatch.setattr(classify, "run", raising(error))
        assert str(error).removeprefix("[Errno 28] ") in refused(capsys, ["classify", "a.jpg"], code=1)
        with pytest.raises(type(error)):
            main(["classify", "a.jpg", "--debug"])


def test_a_drivers_log_is_shortened_without_debug(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    log = ["x" * 5000, *(f"line {index}" for index in range(2, 100))]
    monkeypatch.setattr(classify, "run", raising(ShaderError("\n".join(["layer 'a': refused:", *log]))))
    assert main(["classify", "a.jpg"]) == 1
    first, long, *more = capsys.readouterr().err.splitlines()
    assert first == "error: layer 'a': refused:"
    assert long.startswith("xxx") and len(long) < 250
    assert more == [*(f"line {index}" for index in range(2, 6)), "(94 more lines of the driver: --debug shows them)"]
    with pytest.raises(ShaderError, match="line 99"):
        main(["classify", "a.jpg", "--debug"])


def test_too_little_memory_is_a_line(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classify, "run", raising(MemoryError()))
    assert refused(capsys, ["classify", "a.jpg"], code=1) == "error: not enough memory\n"


def test_an_interruption_exits_with_130(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classify, "run", raising(KeyboardInterrupt()))
    assert main(["classify", "a.jpg"]) == 130
    assert capsys.readouterr() == ("", "interrupted\n")


def test_commands_can_add_a_line_to_an_interruption(capsys: Capture) -> None:
    parser = Parser(prog="train.py")
    add_debug(parser)
    parser.set_defaults(run=raising(KeyboardInterrupt()))
    assert execute(parser, [], interrupted="--resume goes on") == 130
    assert capsys.readouterr() == ("", "interrupted; --resume goes on\n")


def test_a_command_without_return_value_exits_with_0() -> None:
    parser = Parser(prog="train.py")
    add_debug(parser)
    parser.set_defaults(run=lambda args: None)
    assert execute(parser, []) == 0


def test_a_bug_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classify, "run", raising(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main(["classify", "a.jpg"])


PRINTS_LABELS = """
import sys
from glsl_infer.cli import classify, main, main_classify
def run(args):
    print("größte \\udcff", "x" * args.top)
    return 0
classify.run = run
sys.exit(main(["classify", "a.jpg", *sys.argv[1:]]))
"""


def run_clean(
    *arguments: str, stdout: Any = subprocess.PIPE, stderr: Any = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run Python without the variables of this Python, such as PYTHONOPTIMIZE, and with streams of any kind."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    path = str(Path(glsl_infer.__file__).parent.parent)
    return subprocess.run(
        [sys.executable, *arguments],
        env={**inherited, "PYTHONPATH": path, **environment},
        stdout=stdout,
        stderr=stderr,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


@pytest.mark.slow
def test_python_without_docstrings() -> None:
    """Commands work with PYTHONOPTIMIZE=2, which removes docstrings."""
    folder = Path(glsl_infer.__file__).parents[1]
    done = run_python("-OO", "-m", "glsl_infer", "inspect", "nowhere.glslnn", folder=folder)
    assert (done.returncode, done.stderr) == (2, "error: nowhere.glslnn: no such file\n")


def test_python_m_glsl_infer(tmp_path: Path) -> None:
    done = run_clean("-m", "glsl_infer", "classify", str(tmp_path / "no.jpg"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {tmp_path / 'no.jpg'}: no such file\n"


@pytest.mark.slow
@pytest.mark.parametrize("argv", [("-m", "glsl_infer", "--help"), ("-c", PRINTS_LABELS, "--top", "100000")])
def test_a_closed_pipe_ends_the_command_without_a_message(argv: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = run_clean(*argv, stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("top", ["1", "100000"])
def test_a_full_disk_is_one_line(top: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = run_clean("-c", PRINTS_LABELS, "--top", top, stdout=full)
    assert done.returncode == 1
    assert done.stderr == "error: No space left on device\n"


WITHOUT_MODULE = """
import sys
class Missing:
    def find_spec(self, name, *more):
        if name.partition(".")[0] == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from glsl_infer.cli import main, main_classify
sys.exit(main_classify(sys.argv[3:]) if sys.argv[2] == "classify" else main(sys.argv[2:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "package", "argv"),
    [("numpy", "numpy", ["classify"]), ("PIL", "pillow", ["classify"]), ("PIL", "pillow", ["detect"])],
)
def test_a_package_that_is_missing_is_one_line(module: str, package: str, argv: list[str], tmp_path: Path) -> None:
    """A missing package is one line, as on a board with ``pip install --no-deps`` before Debian's packages."""
    picture = tmp_path / "a.jpg"
    picture.touch()
    done = run_clean("-c", WITHOUT_MODULE, module, *argv, str(picture))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: the Python package {package} is not installed; install it: {pip_install(package)}\n"
    )


def test_another_module_that_is_missing_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classify, "run", raising(ModuleNotFoundError(name="glsl_infer.nothing")))
    with pytest.raises(ModuleNotFoundError):
        main(["classify", "a.jpg"])


def test_a_folder_that_was_removed_under_a_command_is_named(tmp_path: Path) -> None:
    script = f"import os, runpy; os.rmdir({str(tmp_path)!r}); runpy.run_module('glsl_infer', run_name='__main__')"
    done = run_python("-P" if sys.version_info >= (3, 11) else "-B", "-c", script, "classify", "a.jpg", folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: the folder that this runs in was removed; go to another one: cd FOLDER\n"


def test_unwritable_messages_do_not_change_the_exit_code() -> None:
    for argv, code in ((("classify", "no such.jpg"), 2), (("manual", "--help"), 0)):
        with Path("/dev/full").open("w") as full:
            done = run_clean("-m", "glsl_infer", *argv, stderr=full)
        assert done.returncode == code, argv


@pytest.mark.parametrize("argv", [["inspect"], ["inspect", "--json"]])
def test_a_name_that_no_file_can_have_is_bad_input(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, argv: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("round").symlink_to("round")
    for name in ("a" * 5000, "a/" * 3000, "round/b"):
        assert len(refused(capsys, [*argv, f"{name}.onnx"])) < 6400


@pytest.mark.parametrize(
    ("encoding", "printed"), [("utf-8", "größte \\udcff x\n"), ("ascii", "gr\\xf6\\xdfte \\udcff x\n")]
)
def test_characters_outside_the_encoding_are_escaped(encoding: str, printed: str) -> None:
    done = run_clean("-c", PRINTS_LABELS, "--top", "1", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"no\.jpg"):
        main(["classify", str(tmp_path / "no.jpg"), "--debug"])
    with pytest.raises(ImageError, match=r"no\.jpg"):
        main_classify(["--debug", str(tmp_path / "no.jpg")])
    with pytest.raises(InputError, match="glslnn"):
        main(["export", "model.keras", "-o", "out.zip", "--labels", "labels.txt", "--debug"])
