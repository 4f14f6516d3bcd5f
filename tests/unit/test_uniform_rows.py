"""Uniform arrays as rows of a texture: the choice of arrays, the contents of rows, and the changed shaders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tiny import tiny_bundle

from glsl_infer.bundle import Bundle
from glsl_infer.program import Slice
from glsl_infer.runtime.drivers.llvmpipe import uniform_rows

LARGEST = 2048
SHADER = """#define BIAS weights[2]
uniform vec2 texel;
uniform vec4 weights[3];
void main() { gl_FragColor = BIAS + weights[2 * turn + 1].xyzw; }
"""


def test_a_row_for_each_array() -> None:
    bundle = tiny_bundle("uniform")
    rows = uniform_rows.with_rows(bundle, LARGEST)
    assert rows.values is not None
    height, width, _ = rows.values.shape
    assert rows.values.dtype == np.float32
    seen = set()
    for before, after in zip(bundle.manifest.passes, rows.bundle.manifest.passes):
        value = before.uniforms.get("weights")
        if value is None:
            assert after == before
            continue
        assert isinstance(value, Slice)
        assert "weights" not in after.uniforms
        (middle,) = after.uniforms["weights_row"]
        row = int(np.float32(middle) * np.float32(height))
        expected = np.frombuffer(bundle.members[value.member], "<f4")[value.offset : value.offset + value.count]
        row_values = rows.values[row].reshape(-1)
        np.testing.assert_array_equal(row_values[: value.count], expected)
        assert not row_values[value.count :].any()
        seen.add(row)
    assert seen == set(range(height))
    assert width == max(program.uniforms.get("weights", 0) for program in bundle.manifest.programs) // 4


def test_rows_take_no_more_than_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the limit of bytes, the longest arrays stay uniforms."""
    bundle = tiny_bundle("uniform")
    values = uniform_rows.with_rows(bundle, LARGEST).values
    assert values is not None
    monkeypatch.setattr(uniform_rows, "MOST_BYTES", values.nbytes - 1)
    rows = uniform_rows.with_rows(bundle, LARGEST)
    assert rows.values is not None
    assert rows.values.shape[0] < values.shape[0] and rows.values.shape[1] < values.shape[1]
    for before, after in zip(bundle.manifest.programs, rows.bundle.manifest.programs):
        length = before.uniforms.get("weights", 0) // 4
        assert ("weights_row" in after.uniforms) == (0 < length <= rows.values.shape[1])
        assert ("weights" in after.uniforms) == (length > rows.values.shape[1])
    monkeypatch.setattr(uniform_rows, "MOST_BYTES", 16 * uniform_rows.LEAST_VECTORS - 1)
    rows = uniform_rows.with_rows(bundle, LARGEST)
    assert rows.values is None
    assert rows.bundle is bundle


def test_uniforms_are_those_of_the_passes() -> None:
    changed = uniform_rows.with_rows(tiny_bundle("uniform"), LARGEST).bundle.manifest
    uniforms = {program.name: dict(program.uniforms) for program in changed.programs}
    assert any("weights_row" in names for names in uniforms.values())
    for draw in changed.passes:
        counts = {
            name: value.count if isinstance(value, Slice) else len(value) for name, value in draw.uniforms.items()
        }
        assert counts == uniforms[draw.program]


def test_the_original_bundle_is_unchanged() -> None:
    bundle = tiny_bundle("uniform")
    members, manifest = dict(bundle.members), bundle.manifest
    uniform_rows.with_rows(bundle, LARGEST)
    assert bundle.members == members
    assert bundle.manifest is manifest


@pytest.mark.parametrize("weights, largest", [("baked", LARGEST), ("texture", LARGEST), ("uniform", 1)])
def test_bundles_without_suitable_arrays_are_unchanged(weights: str, largest: int) -> None:
    """Bundles are unchanged without arrays, with only units of a vec4 each, or with more rows than a texture has."""
    bundle = tiny_bundle(weights)
    rows = uniform_rows.with_rows(bundle, largest)
    assert rows.values is None
    assert rows.bundle is bundle


def test_a_shader_fetches_former_uniforms() -> None:
    text = uniform_rows.rewritten(SHADER, ["weights"], 4)
    assert (
        text
        == """#define BIAS weights_at(2)
uniform vec2 texel;
uniform sampler2D uniform_rows;
uniform float weights_row;
vec4 weights_at(int k) {
    return texture2D(uniform_rows, vec2((float(k) + 0.5) * 2.500000000e-01, weights_row));
}
void main() { gl_FragColor = BIAS + weights_at(2 * turn + 1).xyzw; }
"""
    )


def test_two_arrays_share_the_sampler() -> None:
    text = SHADER.replace("void main", "uniform vec4 more[COUNT];\nvoid main").replace("BIAS +", "more[0] + BIAS +")
    text = uniform_rows.rewritten(text, ["weights", "more"], 4)
    assert text.count("uniform sampler2D uniform_rows;") == 1
    assert "gl_FragColor = more_at(0) + BIAS + weights_at(2 * turn + 1).xyzw;" in text
    assert text.index("uniform sampler2D") < text.index("vec4 weights_at(") < text.index("vec4 more_at(")


def with_text(bundle: Bundle, old: str, new: str) -> Bundle:
    """Return a bundle with a replaced text in all shaders that read arrays."""
    members = {
        name: data.replace(old.encode(), new.encode()) if name.endswith(".frag") else data
        for name, data in bundle.members.items()
    }
    assert members != dict(bundle.members)
    return replace(bundle, members=members)


@pytest.mark.parametrize(
    "old, new",
    [
        ("vec4 sum = BIAS;", "vec4 sum = BIAS; float weights_row = 0.0;"),
        ("vec4 sum = BIAS;", "vec4 sum = BIAS; float uniform_rows = 0.0;"),
        ("vec4 sum = BIAS;", "vec4 sum = BIAS + first(weights);"),
        ("vec4 sum = BIAS;", "vec4 sum = BIAS + weights[int(weights[0].x)];"),
        ("uniform vec4 weights[WEIGHT_COUNT];", "uniform highp vec4 weights[WEIGHT_COUNT];"),
    ],
)
def test_other_shaders_are_not_changed(old: str, new: str) -> None:
    bundle = with_text(tiny_bundle("uniform"), old, new)
    assert uniform_rows.with_rows(bundle, LARGEST).bundle is bundle
