"""Generated shader text: literals that read back exactly, and templates filled in place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glsl_infer.bundle.format_constants import GLSL_LIMITS
from glsl_infer.graph.activations import activation
from glsl_infer.lowering import codegen
from glsl_infer.program import templates


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_literals_are_the_same_float32_and_have_a_point(value: float) -> None:
    text = codegen.number(value)
    assert np.float32(text) == np.float32(value)
    assert "." in text


@pytest.mark.parametrize(
    "value, text", [(1, "1.0"), (-2.5, "-2.5"), (1e-10, "1.00000001e-10"), (3e20, "3.00000006e20")]
)
def test_literals_by_example(value: float, text: str) -> None:
    assert codegen.number(value) == text


def test_lines_take_the_place_of_markers_at_their_indentation() -> None:
    text = "a\n    //@ body what goes here\nb\n//@ none\n"
    assert templates.fill(text, {"body": ["one;", "two;"]}) == "a\n    one;\n    two;\nb\n"


def test_two_sources_share_a_varying() -> None:
    assert [codegen.coordinate(k) for k in range(3)] == ["coord0.xy", "coord0.zw", "coord1.xy"]
    assert [codegen.varyings(n) for n in (1, 2, 3, 9)] == [1, 1, 2, 5]


def test_the_vertex_shader_is_that_of_the_format() -> None:
    """docs/reference/bundle-format.md prints the vertex shader for two varyings, as a reference for other runners."""
    page = (Path(__file__).resolve().parents[2] / "docs/reference/bundle-format.md").read_text("utf-8")
    assert f"```glsl\n{templates.vertex_shader(2)}```\n" in page


@pytest.mark.parametrize("count", range(1, templates.MAX_VARYINGS + 1))
def test_every_varying_is_declared_and_written_once(count: int) -> None:
    lines = templates.vertex_shader(count).splitlines()
    assert [line for line in lines if line.startswith("varying")] == [f"varying vec4 coord{k};" for k in range(count)]
    assert [line for line in lines if "= corner" in line] == [f"    coord{k} = corner{k};" for k in range(count)]


FUNCTION = "piecewise_linear(0.3,-1,0.75,0.15,3)"


def test_a_store_spares_the_outer_clamp_of_straight_pieces() -> None:
    whole = codegen.fragment("dense_sum.frag", activation=activation(FUNCTION))
    line = f"x = {codegen.number(0.3)} * x + -1.0;"
    clamp = f"y += clamp(0.75 * x, {codegen.number(0.15)}, 3.0);"
    assert f"{line}\n    vec4 y = x;\n    {clamp}\n    y = clamp(y, 0.0, 1.0);" in whole
    stored = codegen.fragment(
        "pointwise.frag", activation=activation("piecewise_linear(1,0,0.75,0.15,3)"), saturates=True
    )
    assert f"{{\n    vec4 y = x;\n    {clamp}\n    return y;\n}}" in stored


def test_clamps_have_no_immediates_and_no_factor_of_1() -> None:
    text = codegen.fragment(
        "pointwise.frag", activation=activation("piecewise_linear(1,0,1,0,0.25,2,0.5,3)"), saturates=True
    )
    assert "y += clamp(x, 9.99999972e-10, 0.25000003);" in text
    assert "y += clamp(2.00000024 * x, 0.50000006, 3.0);" in text


def test_values_too_large_for_a_uniform_are_constants() -> None:
    text = "uniform vec4 units; // of sums\nuniform float unit;\nvoid main() { gl_FragColor = unit * units; }\n"
    shader, uniforms = codegen.large_as_constants(text, {"units": [1.0, 2.0, 0.5, 2.0**66], "unit": [-1e13]})
    assert shader.startswith("const vec4 units = vec4(1.0, 2.0, 0.5, 7.37869763e19); // of sums\nuniform float unit;")
    assert uniforms == {"unit": [-1e13]}
    assert GLSL_LIMITS["uniform"] == codegen.MOST_IN_UNIFORM
