"""Weights rounded jointly, and weight textures as floats for llvmpipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tiny import tiny_bundle

from glsl_infer.bundle import Bundle
from glsl_infer.lowering import weight_bytes, weight_rounding
from glsl_infer.lowering.conv_columns import columns_of
from glsl_infer.lowering.weight_texture import Constants
from glsl_infer.program import Texture
from glsl_infer.runtime.drivers.llvmpipe import weight_halves
from glsl_infer.runtime.drivers.llvmpipe.weight_halves import HALVES, MOST_FRAGMENTS, few_read, floats, with_spare_rows

SHAPES = [((1, 1, 16, 8), 1), ((3, 3, 6, 5), 1), ((3, 3, 1, 8), 8), ((3, 3, 3, 12), 2)]
"""Kernels and groups: 1x1, lanes beyond the last channel, depthwise, slices whose groups read different lanes."""


class Seen:
    """Texels that correlate between columns, as in photographs, and are never dark."""

    def __init__(self, count: int, lanes: int, positions: int, seed: int) -> None:
        directions = np.random.default_rng(0).normal(0.0, 0.15, (count, 2))  # shared by all images
        rng = np.random.default_rng(seed)
        common = np.einsum("cf,fpl->cpl", directions, rng.normal(0.0, 1.0, (2, positions, lanes)))
        self.values = np.clip(0.5 + common + rng.normal(0.0, 0.02, (count, positions, lanes)), 0.0, 1.0)

    def __call__(self, reads: Sequence[int]) -> NDArray[np.float32]:
        return self.values.astype(np.float32)


@pytest.mark.parametrize(("shape", "groups"), SHAPES)
def test_outputs_move_less_than_by_the_nearest_weights_on_texels_never_seen(
    shape: tuple[int, int, int, int], groups: int
) -> None:
    columns = columns_of(shape, groups)
    kernel = np.random.default_rng(1).normal(0.0, 1.0, shape).astype(np.float32)
    weights = columns.pack(kernel).astype(np.float64)
    lanes = 4 if columns.depthwise else 1
    factors, other = Seen(columns.count, lanes, 900, 2), Seen(columns.count, lanes, 900, 3)
    step = np.abs(weights).max() / 20.0

    def error(integers: NDArray[np.int64]) -> float:
        differences = np.einsum(
            "cpl,scl->psl", np.broadcast_to(other.values, (*other.values.shape[:2], 4)), integers * step - weights
        )
        return float(np.sqrt((differences**2).mean()))

    together = weight_rounding.rounded(weights / step, 20, columns=columns, column_factors=factors)
    assert not together[~columns.used].any()
    assert np.abs(together).max() <= 20
    nearest = np.rint(weights / step).astype(np.int64)
    assert error(together) < 0.8 * error(nearest)
    assert error(together) < 0.8 * error(weight_bytes.round_preserving_sums(weights / step))


def test_texels_that_are_always_0_leave_the_nearest_weights() -> None:
    columns = columns_of((1, 1, 4, 4), 1)
    weights = np.random.default_rng(4).normal(0.0, 5.0, (1, 4, 4))
    nothing = np.zeros((4, 50, 1), np.float32)
    nearest = weight_rounding.rounded(weights, 127, columns=columns, column_factors=lambda reads: nothing)
    assert (nearest == np.rint(weights)).all()


def test_biases_compensate_the_mean_of_the_rounding() -> None:
    columns = columns_of((1, 1, 12, 8), 1)
    rng = np.random.default_rng(5)
    weights, bias = rng.normal(0.0, 0.1, (2, 12, 4)), rng.normal(0.0, 0.1, (2, 4))
    factors = Seen(12, 1, 400, 6)
    stored = weight_bytes.pack(
        Constants(weights, bias),
        lambda numbers, most: weight_rounding.rounded(numbers, most, columns=columns, column_factors=factors),
        lambda added: weight_rounding.output_shift(added, columns=columns, column_factors=factors),
    ).unpack()
    means = factors.values.mean(axis=1)
    error = (means * (stored.weights - weights)).sum(axis=1) + stored.bias - bias
    assert np.abs(error).max() < 1e-6


def test_depthwise_filters_side_by_side_are_those_of_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Depthwise filters rounded together equal those rounded alone, also with zero inputs and in several batches."""
    rng = np.random.default_rng(5)
    columns, alone = columns_of((3, 3, 1, 8), 8), columns_of((3, 3, 1, 1), 1)
    texels = rng.uniform(0.0, 1.0, (2, 9, 300, 4)).astype(np.float32)
    texels[1, :, :, 2] = 0.0
    weights = rng.normal(0.0, 9.0, (2, 9, 4))
    monkeypatch.setattr(weight_rounding, "AT_A_TIME", 3)
    rounded = weight_rounding.rounded(weights, 20, columns=columns, column_factors=lambda reads: texels[reads[0]])
    for index, lane in np.ndindex(2, 4):
        values = np.zeros((1, 9, 4))
        values[0, :, 0] = weights[index, :, lane]
        result = weight_rounding.rounded(
            values, 20, columns=alone, column_factors=lambda _, index=index, lane=lane: texels[index, :, :, lane, None]
        )
        assert result[0, :, 0].tolist() == rounded[index, :, lane].tolist()


LARGEST = 2048


def halved(bundle: Bundle) -> dict[str, Texture]:
    """Return the textures of weights of convolutions, by name."""
    convolutions = {
        layer.name for layer in tiny_bundle("texture", weight_bits="16").network.layers if layer.op == "conv2d"
    }
    weights = {f"{name}.weights" for name in convolutions}
    return {texture.name: texture for texture in bundle.manifest.textures if texture.name in weights}


def texels(bundle: Bundle, texture: Texture) -> NDArray[np.uint8]:
    assert texture.member is not None
    return np.frombuffer(bundle.members[texture.member], np.uint8).reshape(texture.height, texture.width, 4)


@pytest.fixture(scope="module")
def bundle_pair() -> tuple[Bundle, Bundle]:
    bundle = tiny_bundle("texture", weight_bits="16")
    return bundle, with_spare_rows(bundle, LARGEST)


def test_no_height_is_a_power_of_two(bundle_pair: tuple[Bundle, Bundle]) -> None:
    before, after = (halved(bundle) for bundle in bundle_pair)
    assert {texture.height for texture in before.values()} == {4, 32}
    assert {texture.height for texture in after.values()} == {6, 34}


def test_low_bytes_are_half_a_texture_below_the_high_ones(bundle_pair: tuple[Bundle, Bundle]) -> None:
    before, after = bundle_pair
    for name, texture in halved(before).items():
        other = halved(after)[name]
        old, new = texels(before, texture), texels(after, other)
        for row in range(texture.height // 2):
            middle = np.float32((row + 0.5) / other.height)
            upper, lower = int(middle * other.height), int((middle + np.float32(0.5)) * other.height)
            np.testing.assert_array_equal(new[upper], old[row])
            np.testing.assert_array_equal(new[lower], old[row + texture.height // 2])


def test_a_texture_of_one_slice_gets_two() -> None:
    bundle = tiny_bundle("texture", weight_bits="16")
    stem = halved(bundle)["stem.weights"]
    assert stem.member is not None
    short = replace(stem, height=2)
    textures = tuple(short if texture == stem else texture for texture in bundle.manifest.textures)
    data = bytes(range(8)) * stem.width
    bundle = replace(
        bundle, manifest=replace(bundle.manifest, textures=textures), members={**bundle.members, stem.member: data}
    )
    spaced = with_spare_rows(bundle, LARGEST)
    pixels = texels(spaced, halved(spaced)["stem.weights"])
    assert pixels.shape[0] == 6
    assert pixels[0].tobytes() + pixels[3].tobytes() == data
    assert not pixels[[1, 2, 4, 5]].any()


def test_other_textures_stay(bundle_pair: tuple[Bundle, Bundle]) -> None:
    before, after = bundle_pair
    names = set(halved(before))
    assert [texture for texture in before.manifest.textures if texture.name not in names] == [
        texture for texture in after.manifest.textures if texture.name not in names
    ]
    assert {name: after.members[name] for name in before.members} == dict(before.members)


def test_textures_that_would_be_too_large_stay() -> None:
    bundle = tiny_bundle("texture", weight_bits="16")
    assert {texture.height for texture in halved(with_spare_rows(bundle, 33)).values()} == {6, 32}


def test_other_shaders_keep_their_textures() -> None:
    bundle = tiny_bundle("texture", weight_bits="16")
    members = {name: data.replace(HALVES, b"lower = ROW.y + units[0].x;") for name, data in bundle.members.items()}
    assert members != dict(bundle.members)
    bundle = replace(bundle, members=members)
    assert with_spare_rows(bundle, LARGEST).manifest == bundle.manifest


def test_floats_replace_bytes_if_few_fragments_fetch() -> None:
    bundle = tiny_bundle("texture", weight_bits="16")
    names = frozenset(halved(bundle))
    assert few_read(bundle) == names
    (program,) = {draw.program for draw in bundle.manifest.passes if draw.layer == "stem"}
    large = tuple(
        replace(draw, quads=(replace(draw.quads[0], width=MOST_FRAGMENTS, height=2),))
        if draw.program == program
        else draw
        for draw in bundle.manifest.passes
    )
    bundle = replace(bundle, manifest=replace(bundle.manifest, passes=large))
    assert few_read(bundle) == names - {"stem.weights"}


def test_floats_stay_within_the_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = tiny_bundle("texture", weight_bits="16")
    size = 16 * sum(texture.width * texture.height for texture in halved(bundle).values())
    monkeypatch.setattr(weight_halves, "MOST_BYTES", size)
    assert few_read(bundle)
    monkeypatch.setattr(weight_halves, "MOST_BYTES", size - 1)
    assert not few_read(bundle)


def test_each_byte_becomes_a_float() -> None:
    values = np.frombuffer(floats(bytes(range(256))), np.float32)
    assert values[0] == 0.0
    assert values[255] == 1.0
    np.testing.assert_allclose(values, np.arange(256) / 255.0, rtol=1e-7)
