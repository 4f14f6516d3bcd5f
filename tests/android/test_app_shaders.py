"""The app's own shaders are valid GLSL ES 1.00, for cameras larger and smaller than the network's input."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from phone import ROOT

pytestmark = pytest.mark.exhaustive

SHADERS = ROOT / "android" / "app" / "src" / "main" / "assets" / "shaders"


def lint(source: str, stage: str, folder: Path) -> str:
    """Return the errors of the reference compiler, or an empty string."""
    path = folder / f"shader.{stage}"
    path.write_text(source)
    done = subprocess.run(["glslangValidator", str(path)], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout


@pytest.mark.parametrize("name", ["full.vert", "camera_preview.frag", "camera_mask.frag"])
def test_shaders_without_macros_compile(name: str, tmp_path: Path) -> None:
    assert lint((SHADERS / name).read_text(), name.rsplit(".", 1)[1], tmp_path) == ""


@pytest.mark.parametrize("taps", [(1, 1), (5, 2), (1, 3)])
@pytest.mark.parametrize("grey", ["", "#define GREY\n"])
def test_input_shaders_compile_for_every_ratio(taps: tuple[int, int], grey: str, tmp_path: Path) -> None:
    lines = f"#version 100\n#define TAPS_X {taps[0]}\n#define TAPS_Y {taps[1]}\n{grey}"
    assert lint(lines + (SHADERS / "camera_input.frag").read_text(), "frag", tmp_path) == ""


@pytest.mark.parametrize("taps", [1, 16])
def test_cut_shaders_compile_for_the_fewest_and_most_samples(taps: int, tmp_path: Path) -> None:
    for grey in ("", "#define GREY\n"):
        lines = f"#version 100\n#define TAPS {taps}\n{grey}"
        assert lint(lines + (SHADERS / "camera_cut.frag").read_text(), "frag", tmp_path) == ""


def test_every_shader_of_the_app_has_a_test() -> None:
    names = ["camera_cut.frag", "camera_input.frag", "camera_mask.frag", "camera_preview.frag", "full.vert"]
    assert sorted(path.name for path in SHADERS.iterdir()) == names
