"""Sampler names in shaders: one for a texture, one for each source, or as many as there are texture units."""

from __future__ import annotations

import pytest

from glsl_infer.errors import ModelError
from glsl_infer.lowering.bindings import MAX_SOURCES, MAX_TEXTURES, Binding, Read
from glsl_infer.program import Source, Texture
from glsl_infer.program.layout import View

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
