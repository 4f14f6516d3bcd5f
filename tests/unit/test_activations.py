"""Activations: values, ranges and texts of every form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from activation_texts import TEXTS
from hypothesis import given, settings
from hypothesis import strategies as st
from pairwise import each_of

from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.activations import activation
from glsl_infer.lowering import fold

X = np.linspace(-9.0, 9.0, 3001)


def at(text: str, x: np.ndarray) -> np.ndarray:
    """Apply an activation to ``x``, once for each channel with parameters."""
    channels = activation(text).channels or 1
    return activation(text)(np.repeat(x[:, None], channels, axis=1))


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_of_an_activation_parses_to_the_same_function(text: str) -> None:
    function = activation(text)
    assert activation(function.text) == function
    assert (at(function.text, X) == at(text, X)).all()


@pytest.mark.parametrize("text", TEXTS)
def test_values_are_in_the_range_and_near_its_bounds(text: str) -> None:
    far = np.array([-1e5, -500.0, 500.0, 1e5])  # far enough for roots and logarithms
    function, y = activation(text), at(text, np.concatenate([np.linspace(-70.0, 70.0, 28_001), far]))
    assert y.min() >= function.low - 1e-12 and y.max() <= function.high + 1e-12
    assert y.min() == pytest.approx(function.low, abs=0.02) if math.isfinite(function.low) else y.min() < -3.0
    assert y.max() == pytest.approx(function.high, abs=0.02) if math.isfinite(function.high) else y.max() > 9.0


@pytest.mark.parametrize("text", TEXTS)
def test_a_function_without_extrema_never_decreases(text: str) -> None:
    assert (not activation(text).extrema) == bool((np.diff(at(text, X), axis=0) >= -1e-15).all())


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", TEXTS)
@settings(max_examples=20)
@given(st.floats(-6.0, 6.0), st.floats(0.0, 8.0))
def test_the_range_on_an_interval_is_exact(text: str, low: float, width: float) -> None:
    function = activation(text)
    lows, highs = (np.full(function.channels or 1, end) for end in (low, low + width))
    least, greatest = function.range(lows, highs)
    y = at(text, np.linspace(low, low + width, 4001))
    assert (least <= y.min(axis=0) + 1e-12).all() and (greatest >= y.max(axis=0) - 1e-12).all()
    finest = width / 4000.0 * function.steepest(-100.0, 500.0) + 1e-12  # the largest change between two of the points
    jump = 1.5 if text.startswith(("bent_relu", "hard_shrink", "threshold")) else 0.0
    if "rsqrt" in text or "reciprocal" in text or ("(-" in text and text.startswith("power")):
        jump = np.inf if low <= 1e-6 <= low + width + 1e-5 else 0.0  # values near 0 are 2^20 and more
    assert (least >= y.min(axis=0) - finest - jump).all() and (greatest <= y.max(axis=0) + finest + jump).all()


@pytest.mark.parametrize("text", TEXTS)
def test_it_computes_in_the_type_of_its_argument(text: str) -> None:
    single = at(text, X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, at(text, X.astype(np.float32).astype(np.float64)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("text", TEXTS)
def test_what_weights_may_scale_is_scaled_alike(text: str) -> None:
    if activation(text).scales:
        np.testing.assert_allclose(at(text, 3.0 * X), 3.0 * at(text, X), rtol=1e-12)


@pytest.mark.parametrize(
    "text, value",
    [
        ("elu(0.5)", 0.5 * (math.exp(-1.5) - 1.0)),
        ("selu", 1.0507009873554805 * 1.6732632423543772 * (math.exp(-1.5) - 1.0)),
        ("softplus", math.log1p(math.exp(-1.5))),
        ("softsign", -0.6),
        ("silu", -1.5 / (1.0 + math.exp(1.5))),
        ("gelu", -0.75 * (1.0 - math.erf(1.5 / math.sqrt(2.0)))),
        ("exponential", math.exp(-1.5)),
        ("mish", -1.5 * math.tanh(math.log1p(math.exp(-1.5)))),
        ("tanh", math.tanh(-1.5)),
        ("log_sigmoid", -math.log1p(math.exp(1.5))),
        ("hard_silu", -0.375),
        ("leaky_relu(0.3)", -0.45),
        ("bent_relu(0.5,1)", -1.25),
        ("absolute", 1.5),
        ("celu(0.5)", 0.5 * (math.exp(-3.0) - 1.0)),
        ("soft_shrink(0.5)", -1.0),
        ("hard_shrink(0.5)", -1.5),
        ("hard_shrink(2)", 0.0),
        ("threshold(0.5,0.25)", 0.25),
        ("squareplus(4)", 0.5),
        ("tanh_shrink", math.tanh(1.5) - 1.5),
        ("sparse_plus", 0.0),
        ("square", 2.25),
        ("reciprocal", -1.0 / 1.5),
        ("power(3)", -3.375),
        ("power(-2)", 1.0 / 2.25),
        ("power(1.5)", 0.0),
        ("sqrt", 0.0),
        ("log", -40.0 * math.log(2.0)),
        ("clip(-1,1)", -1.0),
        ("at_most(-2)", -2.0),
    ],
)
def test_values_by_their_formulas(text: str, value: float) -> None:
    assert activation(text)(np.array([-1.5]))[0] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    "text, message",
    [
        ("relu(0)", "a relu with a maximum of 0; it must be positive"),
        ("relu(-1)", "must be positive"),
        ("bent_relu(0.5,2,1)", "it must be above 0 and above the threshold"),
        ("power(0)", "a power of 0; give one from -2 to 8, not 0"),
        ("power(9)", "a power of 9; give one from -2 to 8"),
        ("clip(1,1)", "a clip to 1 and 1; the first must be less"),
        ("tanh(1)", "is not of the form tanh"),
        ("tanh(", "is not of the form tanh"),
        ("leaky_relu", r"is not of the form leaky_relu\(SLOPE\)"),
        ("leaky_relu(0.1,0.2)", "is not of the form"),
        ("prelu()", "is not of the form"),
        ("elu(1e+31)", "not finite, or too large"),
        ("wave", r"no activation is called 'wave'; there are: absolute, at_least\(LOW\)"),
    ],
)
def test_what_is_no_activation_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        activation(text)


def test_slopes_for_other_channels_are_refused_by_the_layers_name() -> None:
    image = Node("image", "input", (), {"shape": (4, 4, 3)})
    with pytest.raises(ModelError, match="layer 'a'"):
        Graph("g", (image, Node("a", "activation", ("image",), {"function": "prelu(0.1,0.2)"})), "a")


@each_of(("text", TEXTS), ("zeros", [(0.0,) * 3, (30.0,) * 3, (10.0, 200.0, 0.0)]))
def test_lanes_beyond_the_last_channel_store_0(text: str, zeros: tuple[float, ...]) -> None:
    function = activation(text)
    if function.clips or function.pieces is not None:
        return  # these functions are stored over their own range
    channels = function.channels or 3
    zeros = (*zeros, *zeros)[:channels]
    out = fold.output(function, {"scales": (0.5, 2.0, 3.0, 1.0, 1.0, 2.0)[:channels], "zeros": zeros}, channels)
    y = function(np.full(channels, out.pad))[0]
    factor, offset = (
        out.constants.get(name, np.full((1, 4), neutral))
        for name, neutral in (("RANGE_FACTOR", 1.0), ("RANGE_OFFSET", 0.0))
    )
    assert (y * factor[-1, 3] + offset[-1, 3]) * 255.0 < 0.25
