"""The Khronos reference compiler accepts every template and every generated shader as GLSL ES 1.00."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from glslang import Shader, lint
from pages import ROOT
from tiny import tiny_program

from glsl_infer.bundle.shader_check import parse
from glsl_infer.errors import BundleError
from glsl_infer.gl.rounding import ROUND_STORES
from glsl_infer.graph.activations import activation
from glsl_infer.lowering import codegen
from glsl_infer.lowering.weights_plan import WEIGHTS_MODES
from glsl_infer.ops import global_average_pool
from glsl_infer.program import PRELUDE, templates
from glsl_infer.runtime.drivers import LATE_FETCH, ROLLED_FETCHES
from glsl_infer.runtime.pictures.resampling import READING, external_prelude
from glsl_infer.support.resources import template

sys.path.insert(0, str(ROOT / "scripts/build"))

from lint_shaders import faults

NAMES = sorted(path.name for path in (ROOT / "shaders").iterdir() if path.is_file())
FRAGMENTS = [name for name in NAMES if name.endswith(".frag")]
FUNCTIONS = [name for name in NAMES if name.endswith(".glsl") and name != "prelude.glsl"]
PRELUDE_TEXT = template("prelude.glsl")
LINES = {"global_average.frag": global_average_pool.FETCH}
"""Lines required to complete a template."""


ONLY_RUNNER = {"area_average.frag", "enlarge.frag", "masked.frag", "picture.frag", "turned.frag"}
"""Templates outside of bundles."""

INCOMPLETE = {"channel_norm.frag", "channel_softmax.frag", "convolution.frag"}
"""Templates of which a checker of bundles needs the lines of an operator, too."""

FRAGMENT_INCLUDES = ["fixed_point.glsl", "store.glsl", "turns.glsl", "late.glsl"]
SCALING = ("area_average.frag", "enlarge.frag")


def fragment(name: str) -> str:
    """Return a template of a fragment shader with all of its possible includes."""
    linear = activation("linear")
    return codegen.fragment(name, activation=linear, includes=FRAGMENT_INCLUDES, lines=LINES.get(name, {}))


def templates_alone() -> Iterator[Shader]:
    """Yield each template as a complete shader, and those that scale images with each kind of source texture."""
    for name in FRAGMENTS:
        yield name, "frag", PRELUDE_TEXT + fragment(name)
    for name in FUNCTIONS:
        for device in ("", LATE_FETCH):
            yield name, "frag", f"{PRELUDE_TEXT}{device}{template(name)}void main() {{ gl_FragColor = vec4(0.0); }}\n"
    for count in range(1, templates.MAX_VARYINGS + 1):
        yield f"vertex shader of {count} varyings", "vert", templates.vertex_shader(count)
    for name in ("picture.vert", "quads.vert", "resample.vert"):
        yield name, "vert", template(name)
    for name in SCALING:
        text = template("store.glsl")
        yield f"{name}, external", "frag", external_prelude(PRELUDE_TEXT.encode()).decode() + text + template(name)
        for kind, reading in READING.items():
            yield f"{name}, {kind}", "frag", PRELUDE_TEXT + text + reading + template(name)


def generated() -> Iterator[Shader]:
    """Yield the shaders of a small network with weights in each place, as each kind of driver compiles them."""
    for weights, device in itertools.product(WEIGHTS_MODES, ("", ROUND_STORES, ROLLED_FETCHES)):
        program = tiny_program(weights=weights)
        prelude = program.members[PRELUDE].decode() + device
        for entry in program.programs:
            yield f"{entry.fragment}, {weights}", "frag", prelude + program.members[entry.fragment].decode()
            yield f"{entry.vertex}, {weights}", "vert", program.members[entry.vertex].decode()


def test_there_are_templates() -> None:
    assert len(FRAGMENTS) >= 5
    assert len(FUNCTIONS) >= 5


def test_every_template_compiles_on_its_own(tmp_path: Path) -> None:
    lint(templates_alone(), tmp_path)


@pytest.mark.parametrize("name", [name for name in FRAGMENTS if name not in ONLY_RUNNER])
def test_a_template_is_in_the_glsl_of_bundles(name: str) -> None:
    text = fragment(name)
    assert re.search(r"gl_FragColor = (whole|store|encode)\(", text), "see shaders/store.glsl"
    if name not in INCOMPLETE:
        try:
            parse(name, text)
        except BundleError as error:
            source = text.splitlines()[int(re.findall(r"line (\d+)", str(error))[0]) - 1]
            pytest.fail(f"{error}\n{source}\nsee docs/reference/bundle-format.md#shaders", pytrace=False)


@pytest.mark.slow
def test_generated_shaders_compile(tmp_path: Path) -> None:
    lint(generated(), tmp_path)


def test_an_invalid_shader_is_named(tmp_path: Path) -> None:
    good = PRELUDE_TEXT + "void main() { gl_FragColor = vec4(0.0); }\n"
    with pytest.raises(AssertionError, match=r"^bad:\n(?s:.*)'unknown' : undeclared identifier") as caught:
        lint([("good", "frag", good), ("bad", "frag", good.replace("0.0", "unknown"))], tmp_path)
    assert "good:" not in str(caught.value)


def test_external_textures_are_declared_before_all_code() -> None:
    text = external_prelude(PRELUDE_TEXT.encode()).decode()
    assert text.splitlines()[1].startswith("#extension"), "right after #version"
    assert all("sampler2D source" not in text + template(name) for name in SCALING)


def test_the_prelude_sets_full_precision() -> None:
    assert "precision highp float;" in PRELUDE_TEXT
    assert "precision highp sampler2D;" in PRELUDE_TEXT


def test_the_style_of_the_templates_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "a.frag"
    path.write_text("void main() {\n\tmediump float x; \n" + "/" * 121 + "\n// lowp in a comment\n")
    assert [fault.partition(":")[0] for fault in faults(path)] == ["2", "2", "2", "3"]
