"""The commands on a real driver: their output, and their error messages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run, run_in_child
from tiny import tiny_bundle

import glsl_infer
from glsl_infer import bundle
from glsl_infer.cli import main, main_classify
from glsl_infer.gl.context import WAYS
from glsl_infer.support.resources import default_model

IMAGES = Path(__file__).resolve().parents[2] / "docs/images"
EXAMPLE = IMAGES / "example.jpg"


def test_classify_prints_five_labels(capsys: pytest.CaptureFixture[str]) -> None:
    assert main_classify([str(EXAMPLE)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert lines[0].endswith("%  Lemon")
    percents = [float(line.split("%")[0]) for line in lines]
    assert percents == sorted(percents, reverse=True)
    assert 20 < percents[0] <= 100
    assert sum(percents) <= 100.1


def test_several_files_and_folders_are_headed_by_their_names(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for path in sorted(IMAGES.glob("*.jpg"))[:3]:
        shutil.copy(path, tmp_path)
    assert main(["classify", "--top", "1", str(EXAMPLE), str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = [line for line in lines if line.endswith(":")]
    assert heads[0] == f"{EXAMPLE}:"
    assert len(heads) == 1 + 3
    assert len(lines) == 2 * len(heads)


def test_classify_prints_predictions_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["classify", "--json", "--top", "2", str(EXAMPLE)]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    assert result["file"] == str(EXAMPLE)
    assert [sorted(prediction) for prediction in result["predictions"]] == [["index", "label", "probability"]] * 2
    assert result["predictions"][0]["label"] == "Lemon"


def test_one_bad_picture_does_not_stop_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(EXAMPLE, tmp_path / "a.jpg")
    (tmp_path / "b.jpg").write_bytes(EXAMPLE.read_bytes()[:500])
    shutil.copy(EXAMPLE, tmp_path / "c.jpg")
    assert main(["classify", "--top", "1", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert printed.out.count("Lemon") == 2
    assert printed.err.count("error:") == 1
    assert "b.jpg" in printed.err


def test_another_model_with_fewer_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle.write(tiny_bundle(), tmp_path / "tiny.glslnn")
    assert main(["classify", "--model", str(tmp_path / "tiny.glslnn"), str(EXAMPLE)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(tiny_bundle().labels)


@pytest.mark.parametrize("choice", ["auto", "surfaceless", "device", "glfw"])
def test_info_lists_the_driver_and_each_way_to_a_context(
    choice: str, screen: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", "--context", choice]) == 0
    printed = capsys.readouterr().out
    for word in ("renderer", "GL_MAX_TEXTURE_SIZE", "highp float", "store rounds up from", "EGL"):
        assert word in printed
    assert printed.count("works: ") == 3
    assert main(["info", "--json", "--context", choice]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["limits"]["GL_MAX_VARYING_VECTORS"] >= 8
    assert report["context"] == ("surfaceless" if choice == "auto" else choice)
    assert {name: state["works"] for name, state in report["contexts"].items()} == dict.fromkeys(WAYS, True)


@pytest.mark.usefixtures("no_screen")
def test_info_has_the_reason_of_a_failed_context(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    printed = capsys.readouterr()
    assert "fails: glfw has no screen: neither DISPLAY nor WAYLAND_DISPLAY is set\n" in printed.out
    assert "xvfb-run" in printed.out
    assert printed.err == ""
    assert main(["info", "--context", "glfw"]) == 1
    printed = capsys.readouterr()
    assert printed.out.count("works: ") == 2
    assert "GL_MAX_TEXTURE_SIZE" not in printed.out
    assert printed.err.startswith("error: --context glfw fails on this machine")
    assert main(["info", "--json", "--context", "glfw"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["context"] is None
    assert report["contexts"]["glfw"]["works"] is False
    assert "DISPLAY" in report["contexts"]["glfw"]["reason"]


@pytest.mark.usefixtures("no_screen")
def test_without_any_driver() -> None:
    info, classify = run_in_child(["info"], ["classify", EXAMPLE], __EGL_VENDOR_LIBRARY_FILENAMES="/nonexistent.json")
    assert info.returncode == 1
    assert info.stdout.count("fails: ") == 3
    for words in ("EGL_MESA_platform_surfaceless", "EGL_EXT_platform_device", "sudo apt install libegl1", "DISPLAY"):
        assert words in info.stdout
    assert info.stderr.startswith("error: no OpenGL ES 2.0 context can be made on this machine")
    assert len(info.stderr.splitlines()) == 1
    assert (classify.returncode, classify.stdout) == (2, "")
    assert classify.stderr.startswith("error: no OpenGL ES 2.0 context could be made (surfaceless: ")
    assert "sudo apt install libegl1 libgles2 libgl1-mesa-dri" in classify.stderr
    assert len(classify.stderr.splitlines()) == 1


NO_LIBRARY = """
import ctypes
load = ctypes.CDLL.__init__
def missing(self, name, *more, **options):
    if name and {!r} in name: raise OSError("not there")
    load(self, name, *more, **options)
ctypes.CDLL.__init__ = missing
"""

NOT_THE_FIRST_TIME = """
import ctypes
load, hidden = ctypes.CDLL.__init__, ["libGLESv2.so.2"]
def missing(self, name, *more, **options):
    if name in hidden:
        hidden.remove(name)
        raise OSError("not there")
    load(self, name, *more, **options)
ctypes.CDLL.__init__ = missing
"""

NOT_LINUX = """
import sys, types
from glsl_infer.gl import api
api.sys = types.SimpleNamespace(platform="darwin", modules=sys.modules)
"""

NO_PYOPENGL = """
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name == "OpenGL" else find(name, *more)
"""


@pytest.mark.parametrize(
    ("before", "missing", "advice"),
    [
        (NO_LIBRARY.format("GLESv2"), "the library libGLESv2", "sudo apt install libegl1"),
        (NO_LIBRARY.format("EGL"), "the library libEGL", "sudo apt install libegl1"),
        (NO_PYOPENGL + NO_LIBRARY.format("EGL"), "the library libEGL", "sudo apt install libegl1"),
        (
            NOT_LINUX + NO_PYOPENGL,
            "the Python package PyOpenGL",
            "pip install PyOpenGL",
        ),
    ],
    ids=["GLESv2", "EGL", "EGL and PyOpenGL", "PyOpenGL"],
)
def test_missing_packages_are_reported_without_a_traceback(before: str, missing: str, advice: str, screen: str) -> None:
    info, classify = run_in_child(["info"], ["classify", EXAMPLE], before=before)
    assert info.returncode == 1, info.stderr
    assert info.stdout.count(f"fails: {missing} is not installed\n") == 3
    assert advice in info.stdout
    assert classify.returncode == 2, classify.stderr
    assert classify.stderr.startswith(f"error: {missing} is not installed; ") and advice in classify.stderr
    assert len(classify.stderr.splitlines()) == 1


def test_linux_needs_no_pyopengl() -> None:
    (classify,) = run_in_child(["classify", EXAMPLE], before=NO_PYOPENGL)
    assert classify.returncode == 0, classify.stderr


def test_libraries_of_other_names_are_found_by_pyopengl() -> None:
    (classify,) = run_in_child(["classify", EXAMPLE], before=NOT_THE_FIRST_TIME)
    assert classify.returncode == 0, classify.stderr


def test_an_es_2_only_driver_gives_the_same_labels() -> None:
    words = ["classify", "--json", EXAMPLE]
    usual, (old, info) = run(*words), run_in_child(words, ["info"], MESA_GLES_VERSION_OVERRIDE="2.0")
    assert usual.returncode == old.returncode == 0
    assert json.loads(usual.stdout) == json.loads(old.stdout)
    assert "OpenGL ES 2.0" in info.stdout or "Mesa" not in info.stdout


def test_an_ordinary_user_without_a_home_can_classify(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "glsl_infer", "classify", str(EXAMPLE)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(tmp_path / "nowhere"), "PYTHONDONTWRITEBYTECODE": "1"},
        user=65534 if os.getuid() == 0 and os.access(sys.executable, os.X_OK) and _readable_by_all() else None,
    )
    assert done.returncode == 0, done.stderr
    assert "Lemon" in done.stdout


def _readable_by_all() -> bool:
    """Return whether another user can read the interpreter and the package (not in a checkout below /root)."""
    paths = [Path(sys.executable).resolve(), Path(__file__).resolve()]
    return all(parent.stat().st_mode & 0o005 == 0o005 for path in paths for parent in path.parents)


def test_other_things_are_none_of_these(capsys: pytest.CaptureFixture[str]) -> None:
    """The default model, which knows groceries, refuses a glass bottle in classify, run and Python.

    With --threshold 0 it does not.
    """
    bottle = IMAGES / "glass128.jpg"
    assert main(["classify", str(bottle), "--top", "1"]) == 0
    output = capsys.readouterr()
    assert output.out.endswith(" %  none of these\n")
    assert "not one of the 81 labels that this model knows; glsl-infer labels lists them" in output.err
    assert main(["run", str(default_model()), str(bottle), "--top", "1"]) == 0
    assert capsys.readouterr().out == output.out
    with glsl_infer.Classifier() as classifier:
        assert str(classifier.classify(bottle, top=1)[0]) == output.out.rstrip("\n")
    assert main(["classify", str(bottle), "--top", "1", "--threshold", "0"]) == 0
    output = capsys.readouterr()
    assert "none of these" not in output.out and output.err == ""
    assert main(["classify", str(EXAMPLE), "--top", "1"]) == 0
    output = capsys.readouterr()
    assert output.out.endswith(" %  Lemon\n") and output.err == ""
