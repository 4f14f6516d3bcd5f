"""The 16-bit shaders are generated from the 8-bit ones."""

from __future__ import annotations

import pytest

from glsl_infer.errors import ModelError
from glsl_infer.lowering import sixteen_bit
from glsl_infer.support.resources import template

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
    both = sixteen_bit.storing_either("layer", SHADER, 1)
    assert both.startswith("varying vec4 coord0;\nuniform float lower_from;\n")
    assert both.count("varying vec4 coord0;") == 1
    assert "coord0.w > lower_from ? y.zw : y.xy" in both
    assert sixteen_bit.storing_either("layer", SHADER, 2).count("varying") == 2


def test_fetches_of_the_second_draw_wait_for_its_sums() -> None:
    convolution = f"{template('store.glsl')}{template('convolution.frag')}"
    first, second = (sixteen_bit.storing("layer", convolution, half) for half in sixteen_bit.HALVES)
    assert "#define WAIT(at) max(at, sum.w)\n" in second
    assert first.count("sum.x, sum.y") == 1 and "max(at, sum.w)" not in first


def test_shaders_without_a_stored_map_are_refused() -> None:
    with pytest.raises(ModelError, match="'layer'"):
        sixteen_bit.storing("layer", "void main() { gl_FragColor = vec4(0.0); }", sixteen_bit.HALVES[0])
