"""The wheel: its contents, its requirements, and its use in a fresh environment.

Builds once, and installs once with pip, so it needs the network. The image is classified on this machine's OpenGL ES
driver.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from planted_modules import executed, plant

import glsl_infer
from glsl_infer.tools.train.features import STARTS

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "example.jpg"
DIST_INFO = f"glsl_infer-{glsl_infer.__version__}.dist-info"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def members(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="session")
def metadata(members: dict[str, bytes]) -> Message:
    return Parser().parsestr(members[f"{DIST_INFO}/METADATA"].decode("utf-8"))


@pytest.fixture(scope="session")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the commands' folder of a fresh environment with the wheel and its requirements installed."""
    return environment(tmp_path_factory.mktemp("fresh") / "venv", sys.executable, wheel)


def environment(folder: Path, python: str, source: Path) -> Path:
    """Install a wheel or a checkout into a fresh environment of a Python; return the folder of its commands."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True, capture_output=True, timeout=300)
    done = run(folder / "bin", "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(source))
    assert done.returncode == 0, done.stderr
    return folder / "bin"


def interpreter(version: str) -> str:
    """Return a Python of that version from the PATH or of pyenv, else the one that runs the tests."""
    items = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    candidates = [*map(str, items[-1:]), shutil.which(f"python{version}"), sys.executable]
    # A shim of pyenv is in the PATH even if pyenv has no such version for this user.
    return next(path for path in candidates if path and subprocess.run([path, "-c", ""], check=False).returncode == 0)


def run(scripts: Path, command: str, *arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command of the fresh environment, from a folder outside the project."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(
        [str(scripts / command), *arguments],
        cwd=folder or scripts.parent,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=600,
    )


COMPLETE = """
source <("$1/glsl-infer" completion bash)
COMP_WORDS=(glsl-infer class) COMP_CWORD=1
_glsl_infer
echo "${COMPREPLY[@]}"
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize(("version", "source"), [("3.9", "checkout"), ("3.13", "wheel")])
def test_a_fresh_environment_has_commands_pages_and_completion(
    wheel: Path, tmp_path: Path, version: str, source: str
) -> None:
    scripts = environment(tmp_path / "venv", interpreter(version), wheel if source == "wheel" else ROOT)
    assert len(run(scripts, "classify", str(PICTURE)).stdout.splitlines()) == 5
    assert run(scripts, "glsl-infer", "manual").returncode == 0
    page = tmp_path / "venv/share/man/man1/glsl-infer-classify.1"
    assert r".B glsl\-infer classify photo.jpg" in page.read_text("utf-8")
    done = subprocess.run(
        ["bash", "-c", COMPLETE, "bash", str(scripts)], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.stdout.strip(), done.stderr) == ("classify", "")


# Contents ------------------------------------------------------------------------------------------


def test_the_wheel_is_for_every_platform(wheel: Path) -> None:
    assert wheel.name == f"glsl_infer-{glsl_infer.__version__}-py3-none-any.whl"


def test_only_the_package_is_inside(members: dict[str, bytes]) -> None:
    assert {name.partition("/")[0] for name in members} == {"glsl_infer", DIST_INFO}
    assert {Path(name).suffix for name in members if name.startswith("glsl_infer/")} == {
        *(".py", ".typed", ".json", ".csv"),
        *(".glsl", ".frag", ".vert"),
        *(".glslnn", ".jpg", ".npz"),
    }


def test_all_modules_are_inside(members: dict[str, bytes]) -> None:
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "glsl_infer").rglob("*.py")}
    assert {name for name in members if name.endswith(".py")} == modules


def test_the_shaders_are_inside(members: dict[str, bytes]) -> None:
    inside = {name: data for name, data in members.items() if name.startswith("glsl_infer/shaders/")}
    assert inside == {f"glsl_infer/shaders/{path.name}": path.read_bytes() for path in (ROOT / "shaders").iterdir()}
    assert "glsl_infer/shaders/convolution.frag" in inside


@pytest.mark.parametrize("name", ["py.typed", "bundle/bundle.schema.json"])
def test_a_data_file_is_inside(members: dict[str, bytes], name: str) -> None:
    assert members[f"glsl_infer/{name}"] == (ROOT / "glsl_infer" / name).read_bytes()


def test_the_models_that_training_starts_from_are_inside(members: dict[str, bytes]) -> None:
    inside = sorted(name for name in members if name.startswith("glsl_infer/models/"))
    assert inside == [f"glsl_infer/models/{name}.glslnn" for name in STARTS]
    for name in STARTS:
        assert members[f"glsl_infer/models/{name}.glslnn"] == (ROOT / "models" / f"{name}.glslnn").read_bytes()
        assert f"glsl_infer/tools/train/data/{name}.npz" in members


def test_the_licence_is_inside(members: dict[str, bytes]) -> None:
    (licence,) = [data for name, data in members.items() if name.startswith(DIST_INFO) and name.endswith("/LICENSE")]
    assert licence == (ROOT / "LICENSE").read_bytes()


# Metadata ------------------------------------------------------------------------------------------


def test_the_wheel_requires_four_packages(metadata: Message) -> None:
    needed = [requirement for requirement in metadata.get_all("Requires-Dist", []) if "extra ==" not in requirement]
    assert sorted(requirement.lower() for requirement in needed) == ["glfw", "numpy", "pillow", "pyopengl"]
    assert set(metadata.get_all("Provides-Extra", [])) == {
        "train",
        "tools",
        "camera",
        "mqtt",
        "gpio",
        "get",
        "tflite",
        "onnx",
        "fence",
        "signatures",
        "dev",
        "test",
    }


def test_the_description_is_the_readme(metadata: Message) -> None:
    assert metadata["Name"] == "glsl-infer"
    assert metadata["Version"] == glsl_infer.__version__
    assert metadata["Requires-Python"] == ">=3.9"
    text = (ROOT / "README.md").read_text("utf-8")
    assert [line for line in str(metadata.get_payload()).splitlines() if line.startswith("#")] == [
        line for line in text.splitlines() if line.startswith("#")
    ]  # test_packages.py has its links


def test_entry_points_are_classify_and_glsl_infer(members: dict[str, bytes]) -> None:
    lines = members[f"{DIST_INFO}/entry_points.txt"].decode("utf-8").split("\n")
    assert [line for line in lines if line] == [
        "[console_scripts]",
        "classify = glsl_infer.cli:main_classify",
        "glsl-infer = glsl_infer.cli:main",
    ]


# In a fresh environment ----------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_the_package_is_imported_from_the_environment(scripts: Path) -> None:
    done = run(scripts, "python", "-c", "import glsl_infer; print(glsl_infer.__file__)")
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(scripts.parent)


def test_only_required_packages_are_installed(scripts: Path) -> None:
    done = run(scripts, "python", "-m", "pip", "list", "--disable-pip-version-check", "--format=freeze")
    names = {line.partition("==")[0].lower() for line in done.stdout.splitlines()}
    assert names - {"pip", "setuptools", "wheel"} == {"glsl-infer", "glfw", "numpy", "pillow", "pyopengl"}


def test_tensorflow_and_keras_are_not_installed(scripts: Path) -> None:
    for name in ("tensorflow", "keras"):
        done = run(scripts, "python", "-c", f"import {name}")
        assert done.returncode == 1
        assert f"No module named '{name}'" in done.stderr


def test_classify(scripts: Path) -> None:
    done = run(scripts, "classify", str(PICTURE))
    assert (done.returncode, done.stderr) == (0, "")
    lines = [re.fullmatch(r" *(\d+\.\d\d) %  \S.*", line) for line in done.stdout.splitlines()]
    percentages = [float(line.group(1)) for line in lines if line]
    assert len(percentages) == len(lines) == 5
    assert percentages == sorted(percentages, reverse=True)
    assert 0 < sum(percentages) <= 100.1


@pytest.mark.parametrize("command", [("classify", str(PICTURE)), ("glsl-infer", "info")])
def test_files_of_the_current_folder_are_not_executed(scripts: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    done = run(scripts, *command, folder=plant(tmp_path))
    assert done.returncode == 0, done.stderr
    assert executed(tmp_path) == []


def test_classify_reports_an_error(scripts: Path) -> None:
    done = run(scripts, "classify", "no.jpg")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "error: no.jpg: no such file\n")


def test_info_has_the_renderer_and_version(scripts: Path) -> None:
    done = run(scripts, "glsl-infer", "info")
    assert (done.returncode, done.stderr) == (0, "")
    words = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert words["renderer"]
    assert words["version"].startswith("OpenGL ES ")


def test_export_names_the_missing_package(scripts: Path, tmp_path: Path) -> None:
    model, labels = tmp_path / "model.keras", tmp_path / "labels.txt"
    model.write_bytes(b"nobody gets to look at it")
    labels.write_text("a\nb\n")
    done = run(scripts, "glsl-infer", "export", str(model), "-o", str(tmp_path / "a.glslnn"), "--labels", str(labels))
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install tensorflow" in done.stderr


def test_the_wheel_that_deploy_packs_is_the_same(scripts: Path, members: dict[str, bytes], tmp_path: Path) -> None:
    program = f"import glsl_infer.tools.deploy.wheel as w, pathlib; print(w.write(pathlib.Path({str(tmp_path)!r})))"
    done = run(scripts, "python", "-c", program)
    assert done.returncode == 0, done.stderr
    packed = tmp_path / done.stdout.strip()
    with zipfile.ZipFile(packed) as archive:
        inside = {name: archive.read(name) for name in archive.namelist()}
    own = {f"{DIST_INFO}/WHEEL", f"{DIST_INFO}/RECORD"}
    assert set(inside) == set(members)
    assert {name for name in inside if inside[name] != members[name]} <= own
    assert sorted(line for line in inside[f"{DIST_INFO}/RECORD"].splitlines() if b"/WHEEL," not in line) == sorted(
        line for line in members[f"{DIST_INFO}/RECORD"].splitlines() if b"/WHEEL," not in line
    )
    install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--force-reinstall", str(packed)]
    done = run(scripts, "python", *install)
    assert done.returncode == 0, done.stderr
    assert run(scripts, "glsl-infer", "--version").stdout == f"glsl-infer {glsl_infer.__version__}\n"
