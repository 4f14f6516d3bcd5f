"""Generated shader text: literals, immediates, samplers, templates filled in place, and 16-bit forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glsl_infer.bundle.format_constants import GLSL_LIMITS
from glsl_infer.errors import ModelError
from glsl_infer.graph.activations import activation
from glsl_infer.lowering import codegen, sixteen_bit
from glsl_infer.lowering.bindings import MAX_SOURCES, MAX_TEXTURES, Binding, Read
from glsl_infer.lowering.immediates import bound, factor, streamed
from glsl_infer.program import Source, Texture, templates
from glsl_infer.program.layout import View
from glsl_infer.support.resources import template


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
    shader = codegen.fragment("dense_sum.frag", activation=activation(FUNCTION))
    line = f"x = {codegen.number(0.3)} * x + -1.0;"
    clamp = f"y += clamp(0.75 * x, {codegen.number(0.15)}, 3.0);"
    assert f"{line}\n    vec4 y = x;\n    {clamp}\n    y = clamp(y, 0.0, 1.0);" in shader
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


POWERS = [2.0**exponent for exponent in range(-8, 8)]


def test_powers_of_two_move_by_one_float_away_from_zero() -> None:
    values = np.array([POWERS, np.negative(POWERS)], np.float32)
    shifted = streamed(values)
    assert shifted.dtype == np.float32
    assert (np.abs(shifted) > np.abs(values)).all()
    assert (np.nextafter(shifted, np.float32(0.0)) == values).all()


def test_all_other_numbers_are_unchanged() -> None:
    values = np.array([0.0, 0.3, -3.0, 256.0, 1.0 / 512.0, 1.0000001, 5.5], np.float32)
    assert streamed(values).tobytes() == values.tobytes()
    assert streamed(np.zeros((2, 0, 4), np.float32)).shape == (2, 0, 4)


@pytest.mark.parametrize("value", [*POWERS, 0.2, 3.0])
def test_factors_and_bounds_change_by_no_more_than_a_float(value: float) -> None:
    assert factor(value) == pytest.approx(value, rel=1.2e-7)
    assert bound(-value) == pytest.approx(-value, rel=1.2e-7)


def test_a_bound_of_zero_is_almost_zero() -> None:
    assert 0.0 < bound(0.0) * 255.0 < 1e-6
    assert factor(0.0) == 0.0


TEXTURES = {name: Texture(name, 10 + index, 20, "target") for index, name in enumerate("abcdefghijkl")}
SAME = {name: Texture(name, 10, 20, "target") for name in TEXTURES}


def reads(names: str) -> list[Read]:
    return [Read(View(name, 3 * index, index)) for index, name in enumerate(names)]


def test_one_texture_is_one_sampler() -> None:
    binding = Binding("layer", TEXTURES, source=reads("aaa"))
    assert binding.samplers == [("source", "a")]
    assert binding.sources == [Source(0, 1.0, 1.0)] * 3
    assert binding.origins == [(0, 0), (3, 1), (6, 2)]
    assert binding.fetch("source", 1) == "texture2D(source, coord0.zw)"
    assert binding.fetch("source", 2, (1, 0)) == "texture2D(source, coord1.xy + vec2(1.0, 0.0) * source_texel)"
    assert binding.texels("source") == {"source_texel": (1 / 10, 1 / 20)}
    assert binding.declarations("source") == [
        "varying vec4 coord0;",
        "varying vec4 coord1;",
        "uniform sampler2D source;",
        "uniform vec2 source_texel;",
    ]
    assert "uniform vec2 source_texel;" not in binding.declarations()


def test_a_texture_each_is_a_sampler_each() -> None:
    """Samplers are numbered by source, not by texture, so draws that differ only in textures share a program."""
    binding = Binding("layer", SAME, source=reads("aba"))
    assert binding.samplers == [("source0", "a"), ("source1", "b"), ("source2", "a")]
    assert [source.unit for source in binding.sources] == [0, 1, 2]
    assert binding.fetch("source", 2) == "texture2D(source2, coord1.xy)"
    assert binding.texels("source") == {"source_texel": (1 / 10, 1 / 20)}, "equal sizes are one uniform"
    other = Binding("layer", SAME, source=reads("cde"))
    assert other.declarations("source") == binding.declarations("source")


def test_textures_of_different_sizes() -> None:
    binding = Binding("layer", TEXTURES, source=reads("ab"))
    assert binding.texels("source") == {"source0_texel": (1 / 10, 1 / 20), "source1_texel": (1 / 11, 1 / 20)}
    assert binding.fetch("source", 1, (0, 2)).endswith("+ vec2(0.0, 2.0) * source1_texel)")


def test_crowded_samplers_are_shared() -> None:
    """Nine reads of three textures exceed the texture units, so the reads share a sampler for each texture."""
    binding = Binding("layer", TEXTURES, source=reads("abcabcabc"))
    assert binding.samplers == [("source0", "a"), ("source1", "b"), ("source2", "c")]
    assert [source.unit for source in binding.sources] == [0, 1, 2] * 3
    assert binding.fetch("source", 5) == "texture2D(source2, coord2.zw)"
    assert binding.texel("source", 5) == "source2_texel"


def test_roles_count_together_and_keep_their_names() -> None:
    binding = Binding("layer", SAME, source=reads("abcdefg"), residual=reads("h"))
    assert len(binding.samplers) == MAX_TEXTURES
    assert binding.samplers[-1] == ("residual", "h")
    assert binding.fetch("residual") == "texture2D(residual, coord3.zw)"
    assert set(binding.texels("source", "residual")) == {"source_texel", "residual_texel"}
    crowded = Binding("layer", SAME, source=reads("abababab"), residual=reads("a"))
    assert [name for name, _ in crowded.samplers] == ["source0", "source1", "residual"]
    assert Binding("layer", SAME, source=reads("a"), residual=[]).samplers == [("source", "a")]


def test_offsets_and_strides() -> None:
    binding = Binding("layer", TEXTURES, source=[Read(View("a", 5, 6), (-1, -2), (0.5, 2.0))])
    assert binding.origins == [(4, 4)]
    assert binding.sources == [Source(0, 0.5, 2.0)]


def test_too_many_textures() -> None:
    with pytest.raises(ModelError, match="layer 'layer'"):
        Binding("layer", TEXTURES, source=reads("abcdefghi"))


def test_too_many_slices() -> None:
    assert len(Binding("layer", TEXTURES, source=reads("a" * MAX_SOURCES)).sources) == 14
    with pytest.raises(ModelError, match="layer 'layer'"):
        Binding("layer", TEXTURES, source=reads("a" * (MAX_SOURCES + 1)))


SHADER = (
    "varying vec4 coord0;\nuniform sampler2D source;\nuniform sampler2D other;\n"
    f"{template('store.glsl')}\nvoid main() {{\n    vec4 y = texture2D(source, max(coord0.xy, f(vec2(1.0))));\n"
    "    y += floor(texture2D(source, coord0.xy) * 255.0 + 0.5) + texture2D(other, texture2D(source, coord0.xy).xy);\n"
    "    gl_FragColor = store(y);\n}\n"
)


def test_fetches_of_both_tiles() -> None:
    text = sixteen_bit.reading(SHADER, frozenset({"source", "unused"}))
    assert "vec4 y = fine(source, source_down, max(coord0.xy, f(vec2(1.0))));" in text
    assert "y += fine_bytes(source, source_down, coord0.xy) + texture2D(other, fine(source" in text
    assert text.count("uniform float source_down;") == 1
    assert "unused_down" not in text


def test_each_draw_stores_its_half() -> None:
    for half in sixteen_bit.HALVES:
        text = sixteen_bit.storing("layer", SHADER, half)
        assert f"return {half};" in text
        assert "65280.0" in text
    shader = sixteen_bit.storing_either("layer", SHADER, 1)
    assert shader.startswith("varying vec4 coord0;\nuniform float lower_from;\n")
    assert shader.count("varying vec4 coord0;") == 1
    assert "coord0.w > lower_from ? y.zw : y.xy" in shader
    assert sixteen_bit.storing_either("layer", SHADER, 2).count("varying") == 2


def test_fetches_of_the_second_draw_wait_for_its_sums() -> None:
    convolution = f"{template('store.glsl')}{template('convolution.frag')}"
    first, second = (sixteen_bit.storing("layer", convolution, half) for half in sixteen_bit.HALVES)
    assert "#define WAIT(at) max(at, sum.w)\n" in second
    assert first.count("sum.x, sum.y") == 1 and "max(at, sum.w)" not in first


def test_shaders_without_a_stored_map_are_refused() -> None:
    with pytest.raises(ModelError, match="'layer'"):
        sixteen_bit.storing("layer", "void main() { gl_FragColor = vec4(0.0); }", sixteen_bit.HALVES[0])
