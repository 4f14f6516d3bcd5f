"""Weights as stored in a texture: 16 or 8 bits a weight, rows for pairs of channels, partial sums, and the plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from graphs import conv_node
from hypothesis import given
from hypothesis import strategies as st

from glsl_infer import ops
from glsl_infer.errors import InputError
from glsl_infer.graph import Node
from glsl_infer.lowering import products_texture, weight_bytes, weight_pairs, weight_texture, weights_plan
from glsl_infer.lowering.bindings import MAX_TEXTURES, Read
from glsl_infer.lowering.conv_columns import Columns, columns_of
from glsl_infer.lowering.product_blocks import slot_blocks
from glsl_infer.lowering.texture_choice import ConvolutionWeights
from glsl_infer.lowering.weight_pairs import WeightPairs
from glsl_infer.lowering.weight_texture import Constants
from glsl_infer.lowering.weights_plan import LayerWeights
from glsl_infer.program.layout import FeatureMap, FixedMap, View
from glsl_infer.tools.videocore import estimate


def constants(seed: int, slices: int, columns: int, *, factor: bool) -> Constants:
    """Return channels whose weights differ in size by up to a million, and biases of any size."""
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.uniform(-3, 3, (slices, 1, 4))
    weights = size * rng.normal(0, 1, (slices, columns, 4))
    bias = 10.0 ** rng.uniform(-2, 2) * rng.normal(0, 1, (slices, 4))
    return Constants(weights, bias, rng.uniform(0.01, 2.0, (slices, 4)) if factor else None)


@given(st.integers(0, 1 << 30), st.integers(1, 9), st.integers(1, 80), st.booleans())
def test_unpacked_weights_are_near_the_packed_weights(seed: int, slices: int, columns: int, factor: bool) -> None:
    actual = constants(seed, slices, columns, factor=factor)
    packed = weight_texture.pack(actual)
    assert packed.texels.shape == (2 * slices, columns + (5 if factor else 3), 4)
    stored = weight_texture.read(packed.texels.tobytes(), packed.units.tobytes(), slices, columns).unpack()
    largest = np.abs(actual.weights).max(axis=1, keepdims=True)
    # Half a 16-bit step of the channel's scale, which is a multiple of the layer's unit.
    unit = float(packed.units[0])
    assert (np.abs(stored.weights - actual.weights) <= 0.5001 * (largest / 32767 + unit)).all()
    assert np.abs(stored.bias - actual.bias).max() <= np.abs(actual.bias).max() / (1 << 23)
    assert (stored.factor is None) == (not factor)
    if actual.factor is not None and stored.factor is not None:
        assert np.abs(stored.factor - actual.factor).max() <= actual.factor.max() / (1 << 23)


def test_a_small_channel_keeps_its_digits_next_to_a_large_one() -> None:
    weights = np.array([[[1000.0, 0.5, 0.0, 1.0], [-500.0, 0.123456, 0.0, -1.0]]])
    stored = weight_texture.pack(Constants(weights, np.zeros((1, 4)))).unpack()
    assert np.abs(stored.weights[0, 1, 1] / 0.123456 - 1.0) < 2e-3
    assert not stored.weights[0, :, 2].any()
    assert stored.weights[0, 0, 0] == pytest.approx(1000.0, rel=1e-4)


def test_zeros_stay_zero() -> None:
    stored = weight_texture.pack(Constants(np.zeros((2, 3, 4)), np.zeros((2, 4)), np.zeros((2, 4)))).unpack()
    assert not stored.weights.any()
    assert not stored.bias.any()


def test_unpacked_weights_pack_to_equal_weights() -> None:
    once = weight_texture.pack(constants(1, 5, 33, factor=True)).unpack()
    repacked = weight_texture.pack(once).unpack()
    assert np.allclose(once.weights, repacked.weights, rtol=0, atol=np.abs(once.weights).max() / 32767)


def test_a_texture_of_another_width_is_refused() -> None:
    packed = weight_texture.pack(constants(0, 2, 7, factor=False))
    with pytest.raises(ValueError, match="10 texels wide"):
        weight_texture.read(packed.texels.tobytes(), packed.units.tobytes(), 2, 8)


def weights_of(slices: int, channels: int, textures: int = 1) -> ConvolutionWeights:
    """Return small weights of a 1x1 convolution of 8-bit maps in some textures."""
    columns = columns_of((1, 1, channels, 4 * slices), 1)
    reads = [{"source": [Read(View(f"map{index % textures}", 0, 0)) for index in range(columns.slots)]}] * slices
    weights = Constants(np.full((slices, channels, 4), 1e-4, np.float32), np.zeros((slices, 4), np.float32))
    return ConvolutionWeights(
        reads,
        columns,
        weights,
        alpha=False,
        steepness=None,
        reads_16_bits=False,
        stores_16_bits=False,
        tolerates_rounding=False,
        in_pairs=False,
        has_images=False,
        takes_root=False,
    )


@pytest.mark.parametrize(
    ("weight_bits", "slices", "channels", "reason"),
    [
        ("16", 1024, 520, ""),
        ("16", 1025, 4, "1025 slices of 4 columns, and at most 1024 of 520 columns can have one"),
        ("16", 1, 524, "1 slices of 524 columns, and at most 1024 of 520 columns can have one"),
        ("auto", 2048, 4, ""),
        ("auto", 2049, 4, "2049 slices of 4 columns, and at most 2048 of 1280 columns can have one"),
        ("auto", 1, 1284, "1 slices of 1284 columns, and at most 2048 of 1280 columns can have one"),
    ],
)
def test_weights_too_large_for_a_texture_have_a_reason(
    weight_bits: str, slices: int, channels: int, reason: str
) -> None:
    assert weights_of(slices, channels).in_texture(weight_bits).untextured == reason


def test_a_draw_has_a_texture_to_spare_for_weights() -> None:
    assert weights_of(1, 40, textures=7).in_texture("auto").untextured == ""
    assert weights_of(1, 40, textures=8).in_texture("auto").untextured == "a draw reads 8 textures already"


def constants_of_bytes(seed: int, slices: int, columns: int, *, factor: bool) -> Constants:
    """Return channels whose weights differ in size by up to a hundred, and biases of any size."""
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.uniform(-1, 1, (slices, 1, 4))
    weights = size * rng.normal(0, 1, (slices, columns, 4))
    bias = 10.0 ** rng.uniform(-2, 1) * rng.normal(0, 1, (slices, 4))
    return Constants(weights, bias, rng.uniform(0.01, 2.0, (slices, 4)) if factor else None)


@given(st.integers(0, 1 << 30), st.integers(1, 9), st.integers(1, 80), st.booleans())
def test_unpacked_bytes_are_near_the_packed_weights(seed: int, slices: int, columns: int, factor: bool) -> None:
    actual = constants_of_bytes(seed, slices, columns, factor=factor)
    packed = weight_bytes.pack(actual)
    assert packed.texels.shape == (slices, columns + (7 if factor else 4), 4)
    read = weight_bytes.read(packed.texels.tobytes(), packed.units.tobytes(), slices, columns)
    assert read is not None
    stored = read.unpack()
    bound = np.maximum(np.abs(actual.weights).max(axis=1), np.abs(actual.bias) / 256.0)
    scale = (bound / 127 + float(packed.units[0]))[:, None]
    # A weight can be rounded up if down is nearer, but always to a neighbouring step.
    assert (np.abs(stored.weights - actual.weights) <= 1.0001 * scale).all()
    assert (np.abs((stored.weights - actual.weights).sum(axis=1)) <= 0.5001 * scale[:, 0]).all()
    assert (np.abs(stored.bias - actual.bias) <= 0.01 * scale[:, 0]).all()
    assert (stored.factor is None) == (not factor)
    if actual.factor is not None and stored.factor is not None:
        assert np.abs(stored.factor - actual.factor).max() <= actual.factor.max() / (1 << 23)


def test_the_noise_equals_the_rounding_error_of_full_texels() -> None:
    """The noise formula excludes the preserved sums, so here each texel has a random sign."""
    actual = constants_of_bytes(3, 64, 300, factor=False)
    stored = weight_bytes.pack(actual).unpack()
    signs = np.random.default_rng(4).choice([-1.0, 1.0], (1, 300, 1))
    error = 255.0 * ((stored.weights - actual.weights) * signs).sum(axis=1).ravel()
    assert np.sqrt((error**2).mean()) == pytest.approx(weight_bytes.noise(actual.weights, actual.bias), rel=0.25)


def test_zeros_stay_zero_in_bytes() -> None:
    stored = weight_bytes.pack(Constants(np.zeros((2, 3, 4)), np.zeros((2, 4)), np.zeros((2, 4)))).unpack()
    assert not stored.weights.any()
    assert not stored.bias.any()


def test_a_large_bias_with_small_weights_is_kept() -> None:
    stored = weight_bytes.pack(Constants(np.full((1, 5, 4), 1e-6), np.array([[1.0, -1.0, 0.5, 0.0]]))).unpack()
    assert stored.bias == pytest.approx(np.array([[1.0, -1.0, 0.5, 0.0]]), abs=1e-4)
    assert np.abs(stored.weights).max() <= 1e-4


def test_a_texture_of_another_size_is_not_read() -> None:
    packed = weight_bytes.pack(constants_of_bytes(0, 2, 7, factor=False))
    assert weight_bytes.read(packed.texels.tobytes(), packed.units.tobytes(), 2, 8) is None


SHAPES = [((3, 3, 7, 10), 1), ((1, 1, 16, 24), 1), ((3, 3, 2, 8), 4), ((2, 2, 3, 6), 2), ((1, 5, 1, 3), 1)]


def constants_of_kernel(
    seed: int, columns: Columns, kernel: tuple[int, ...], *, factor: bool, numbers: int
) -> Constants:
    """Return constants of any size for a kernel's columns."""
    rng = np.random.default_rng(seed)
    each = (columns.slices, 4)
    return Constants(
        columns.pack(rng.normal(0, 10.0 ** rng.uniform(-3, 3), kernel).astype(np.float32)),
        rng.normal(0, 1, each),
        rng.uniform(0.01, 2.0, each) if factor else None,
        tuple(rng.normal(0, 1, each) for _ in range(numbers)),
    )


def read(weights: WeightPairs, columns: Columns) -> WeightPairs:
    """Return the weights read back from a bundle's two members."""
    result = weight_pairs.read(weights.texels.tobytes(), weights.units.tobytes(), columns)
    assert result is not None
    return result


def parts(actual: Constants) -> list[np.ndarray]:
    """Return all arrays of some constants."""
    return [actual.weights, actual.bias, *([] if actual.factor is None else [actual.factor]), *actual.numbers]


@given(st.integers(0, 1 << 30), st.sampled_from(SHAPES), st.booleans(), st.integers(0, 4))
def test_weights_of_8_bits_are_those_of_a_row_for_each_slice(
    seed: int, shape: tuple[tuple[int, ...], int], factor: bool, numbers: int
) -> None:
    columns = columns_of(*shape)
    texture = weight_bytes.pack(constants_of_kernel(seed, columns, shape[0], factor=factor, numbers=numbers))
    pairs = weight_pairs.of_bytes(texture, columns)
    assert len(pairs.texels) == 2 * columns.slices
    assert np.array_equal(pairs.high_bytes, texture.high_bytes)
    for actual, result in zip(parts(texture.unpack()), parts(read(pairs, columns).unpack()), strict=True):
        assert np.array_equal(actual, result)


@given(st.integers(0, 1 << 30), st.sampled_from(SHAPES), st.booleans(), st.integers(0, 4))
def test_weights_of_16_bits_are_near_their_values(
    seed: int, shape: tuple[tuple[int, ...], int], factor: bool, numbers: int
) -> None:
    columns = columns_of(*shape)
    expected = constants_of_kernel(seed, columns, shape[0], factor=factor, numbers=numbers)
    pairs = weight_pairs.of_constants(expected, columns)
    stored = read(pairs, columns)
    assert stored.bits == 16
    for actual, result in zip(parts(pairs.unpack()), parts(stored.unpack()), strict=True):
        assert np.array_equal(actual, result)
    bound = np.maximum(np.abs(expected.weights).max(axis=1), np.abs(expected.bias) / 256.0)
    step = (bound / 127 + float(pairs.units[0])) / 256.0
    assert (np.abs(stored.unpack().weights - expected.weights) <= 0.51 * step[:, None]).all()
    assert (np.abs(stored.unpack().bias - expected.bias) <= 256.0 * 0.01 * step).all()


def test_textures_of_another_kind_are_not_read_and_wrong_sizes_are_refused() -> None:
    columns = columns_of((1, 1, 3, 4), 1)
    texture = weight_bytes.pack(constants_of_kernel(0, columns, (1, 1, 3, 4), factor=False, numbers=0))
    assert weight_pairs.read(texture.texels.tobytes(), texture.units.tobytes(), columns) is None
    pairs = weight_pairs.of_bytes(texture, columns)
    with pytest.raises(ValueError, match="in pairs has"):
        weight_pairs.read(pairs.texels.tobytes()[4:], pairs.units.tobytes(), columns)


@pytest.mark.parametrize(("kernel", "texels"), [((1, 1, 8, 4), 4), ((1, 1, 7, 4), 4), ((3, 3, 5, 4), 27)])
def test_two_columns_of_one_texel_share_one_of_weights(kernel: tuple[int, ...], texels: int) -> None:
    assert weight_pairs.texels_of(columns_of(kernel, 1)) == texels


def test_a_draw_needs_a_texture_for_the_weights() -> None:
    columns = columns_of((3, 3, 16, 8), 1)
    blocks = slot_blocks(columns, 8)
    assert products_texture.untextured(columns, blocks, MAX_TEXTURES - 1, 1.0) == ""
    assert "8 textures already" in products_texture.untextured(columns, blocks, MAX_TEXTURES, 1.0)


def test_a_window_is_that_of_the_whole_convolution() -> None:
    node = conv_node(np.random.default_rng(0), "c", ("x",), 4, 4, kernel=(3, 5), padding=(1, 1, 2, 2), dilations=(2, 1))
    assert ops.get("convolution_products").reads(node) == ops.get("conv2d").reads(node) is not None


def test_weights_are_read_for_the_kinds_of_inputs_that_have_them() -> None:
    views = tuple(View("t", 2 * index, 0) for index in range(2))
    sums, plain = FixedMap(2, 2, 4, 1.0, views), FeatureMap(2, 2, 4, 0, views[:1])
    kernel = {"kernel": np.zeros((1, 1, 4, 4), np.float32)}
    products = Node("p", "convolution_products", ("x",), ops.get("convolution_products").attrs, kernel)
    with pytest.raises(ValueError, match="layer 'p'"):
        ops.get("convolution_products").read_weights(products, {"kernel": (1, 1, 4, 4)}, [], [sums])
    total = Node("s", "convolution_sum", ("x",), ops.get("convolution_sum").attrs)
    for inputs in ([plain], [sums, sums]):
        with pytest.raises(ValueError, match="layer 's'"):
            ops.get("convolution_sum").read_weights(total, {"bias": (4,)}, [], inputs)


PW = LayerWeights("pw", slices=32, pixels=23 * 23, columns=32, vectors=33)
"""A 1x1 convolution of X22's fourth stage."""


@pytest.mark.parametrize(
    "layer, mode",
    [
        (PW, "texture"),
        (replace(PW, slices=16, pixels=47 * 47), "uniform"),  # fewer draws to save, and more pixels
        (replace(PW, slices=48, pixels=11 * 11), "texture"),
        (replace(PW, slices=8, pixels=191 * 191), "uniform"),
        (replace(PW, slices=1), "baked"),  # no uploads, and one program in any mode
        (replace(PW, untextured="because"), "uniform"),
        (replace(PW, slices=6, pixels=96 * 96, columns=216, vectors=217), "baked"),
        (replace(PW, columns=216, vectors=217), "texture"),
    ],
)
def test_auto_chooses_the_cheapest_mode(layer: LayerWeights, mode: str) -> None:
    choice = weights_plan.choose(layer, "auto")
    assert choice.mode == mode
    costs = {other: cost for other, cost in choice.microseconds.items() if cost is not None}
    assert costs[mode] == min(costs.values())


def test_longer_arrays_take_longer() -> None:
    long, longer = (weights_plan.costs(replace(PW, vectors=count), 3500)["uniform"] for count in (1000, 1100))
    assert longer - long == pytest.approx(PW.slices * 100 * weights_plan.VECTOR)
    short, shorter = (weights_plan.costs(replace(PW, vectors=count), 3500)["uniform"] for count in (100, 33))
    assert short == shorter


def test_a_reason_has_the_savings_and_the_cost() -> None:
    # 32 * 23 * 23 fragments with 85 + 32 * 15.5 more instructions, 12,000 in a microsecond
    assert weights_plan.choose(PW, "auto").reason == "31 draws less save 2945 us, weights by texel cost 820 us"
    assert weights_plan.work(PW, "baked") == weights_plan.work(PW, "uniform")
    small = replace(PW, slices=6, pixels=9216, columns=216, vectors=217)
    assert "an array of 217 vec4 is longer than 216" in weights_plan.choose(small, "auto").reason
    assert "no texture: because" in weights_plan.choose(replace(PW, untextured="because"), "auto").reason


@pytest.mark.parametrize("mode", ["baked", "uniform", "texture"])
def test_a_chosen_mode_is_used(mode: str) -> None:
    choice = weights_plan.choose(replace(PW, slices=8, pixels=191 * 191), mode)
    assert (choice.mode, choice.reason) == (mode, f"asked for by --weights {mode}")


@pytest.mark.parametrize("mode", ["baked", "uniform", "texture"])
@pytest.mark.parametrize("text", ["auto", "baked", "uniform", "texture"])
def test_a_mode_chosen_for_one_layer_is_used(text: str, mode: str) -> None:
    choice = weights_plan.choose(PW, text, mode)
    assert (choice.mode, choice.reason) == (mode, f"asked for by --weights-for pw={mode}")


def test_one_layer_can_be_left_to_the_model() -> None:
    assert weights_plan.choose(PW, "baked", "auto") == weights_plan.choose(PW, "auto")


def test_one_layer_that_can_have_no_texture_is_refused() -> None:
    with pytest.raises(InputError, match="layer 'pw'"):
        weights_plan.choose(replace(PW, untextured="because"), "auto", "texture")


def test_a_layer_that_can_have_no_texture_gets_the_next_best() -> None:
    assert weights_plan.choose(replace(PW, untextured="because"), "texture").mode == "uniform"


def test_a_mode_that_a_layer_cannot_have_has_no_cost() -> None:
    choice = weights_plan.choose(replace(PW, vectors=500, untextured="because"), "auto")
    assert choice.microseconds["uniform"] is None
    assert choice.microseconds["texture"] is None
    assert choice.mode == "baked"


def test_cheaper_draws_lead_to_more_draws() -> None:
    layer = replace(PW, pixels=40 * 40)
    dear, cheap = (weights_plan.choose(layer, "auto", draw=draw) for draw in (weights_plan.DRAW, 25.0))
    assert (dear.mode, cheap.mode) == ("texture", "uniform")
    assert "draws saved 775 us" in cheap.reason


def test_a_draw_costs_as_much_as_in_the_estimate_of_boards() -> None:
    zero = estimate.costs(estimate.BOARDS[0])
    assert pytest.approx(zero.draw * 1000.0, rel=0.01) == weights_plan.DRAW
    assert estimate.QPUS * estimate.BOARDS[0].clock * 16 / estimate.CYCLES / 1e6 == weights_plan.INSTRUCTIONS
