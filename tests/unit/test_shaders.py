"""Every template, and every shader generated from it, is valid GLSL ES 1.00 to the Khronos reference compiler."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from pages import ROOT
from tiny import tiny_program

from glsl_infer.gl.rounding import ROUND_STORES
from glsl_infer.graph.activations import activation
from glsl_infer.lowering import codegen
from glsl_infer.ops import global_average_pool
from glsl_infer.program import PRELUDE, templates
from glsl_infer.runtime.drivers import ROLLED_FETCHES
from glsl_infer.runtime.drivers.videocore import LATE_FETCH
from glsl_infer.runtime.pictures.resampling import READING, external_prelude
from glsl_infer.support.resources import template

NAMES = sorted(path.name for path in (ROOT / "shaders").iterdir() if path.is_file())
FRAGMENTS = [name for name in NAMES if name.endswith(".frag")]
FUNCTIONS = [name for name in NAMES if name.endswith(".glsl") and name != "prelude.glsl"]
PRELUDE_TEXT = template("prelude.glsl")
LINES = {"global_average.frag": global_average_pool.FETCH}
"""What a template is nothing without."""


def lint(source: str, stage: str, folder: Path) -> None:
    path = folder / f"shader.{stage}"
    path.write_text(source)
    done = subprocess.run(["glslangValidator", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + source


def test_there_are_templates() -> None:
    assert len(FRAGMENTS) >= 5
    assert len(FUNCTIONS) >= 5


@pytest.mark.parametrize("name", FRAGMENTS)
def test_fragment_templates_compile_on_their_own(name: str, tmp_path: Path) -> None:
    includes = ["fixed_point.glsl", "store.glsl", "turns.glsl", "late.glsl"]
    text = codegen.fragment(name, activation=activation("linear"), includes=includes, lines=LINES.get(name, {}))
    lint(PRELUDE_TEXT + text, "frag", tmp_path)


@pytest.mark.parametrize("device", ["", LATE_FETCH])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_templates_compile(name: str, device: str, tmp_path: Path) -> None:
    lint(PRELUDE_TEXT + device + template(name) + "void main() { gl_FragColor = vec4(0.0); }\n", "frag", tmp_path)


@pytest.mark.parametrize("count", range(1, templates.MAX_VARYINGS + 1))
def test_vertex_shaders_compile(count: int, tmp_path: Path) -> None:
    lint(templates.vertex_shader(count), "vert", tmp_path)


@pytest.mark.parametrize("name", ["picture.vert", "quads.vert", "resample.vert"])
def test_other_vertex_shaders_compile(name: str, tmp_path: Path) -> None:
    lint(template(name), "vert", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("device", ["", ROUND_STORES, ROLLED_FETCHES])
@pytest.mark.parametrize("weights", ["baked", "uniform", "texture"])
def test_generated_shaders_compile(weights: str, device: str, tmp_path: Path) -> None:
    program = tiny_program(weights=weights)
    prelude = program.members[PRELUDE].decode() + device
    for one in program.programs:
        lint(prelude + program.members[one.fragment].decode(), "frag", tmp_path)
        lint(program.members[one.vertex].decode(), "vert", tmp_path)


@pytest.mark.parametrize("name", ["area_average.frag", "enlarge.frag"])
def test_what_reads_external_textures_compiles(name: str, tmp_path: Path) -> None:
    text = external_prelude(PRELUDE_TEXT.encode()).decode() + template("store.glsl") + template(name)
    assert text.splitlines()[1].startswith("#extension"), "before all code, right behind #version"
    assert "sampler2D source" not in text
    lint(text, "frag", tmp_path)


@pytest.mark.parametrize("kind", READING)
@pytest.mark.parametrize("name", ["area_average.frag", "enlarge.frag"])
def test_scaling_of_grey_and_of_alpha_compiles(name: str, kind: str, tmp_path: Path) -> None:
    lint(PRELUDE_TEXT + template("store.glsl") + READING[kind] + template(name), "frag", tmp_path)


def test_every_fragment_shader_asks_for_full_precision() -> None:
    assert "precision highp float;" in PRELUDE_TEXT
    assert "precision highp sampler2D;" in PRELUDE_TEXT
    for name in NAMES:
        if name != "prelude.glsl":
            assert "mediump" not in template(name)
            assert "lowp" not in template(name)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "prelude.glsl"])
def test_templates_have_no_long_lines_and_no_tabs(name: str) -> None:
    for line in template(name).splitlines():
        assert len(line) <= 120
        assert "\t" not in line
        assert line == line.rstrip()
