"""Activations: values, ranges and texts of every form, and piecewise-linear sigmoids."""

from __future__ import annotations

import math

import numpy as np
import pytest
from activation_texts import TEXTS
from graphs import PLS, conv_node, input_node
from hypothesis import given, settings
from hypothesis import strategies as st
from pairwise import each_of

from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.activations import activation
from glsl_infer.graph.piecewise_linear import HARD_SIGMOID, SEVEN_PIECES, Clamp, PiecewiseLinear, of_slopes
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
    extremes = np.array([-1e5, -500.0, 500.0, 1e5])  # far enough for roots and logarithms
    function, y = activation(text), at(text, np.concatenate([np.linspace(-70.0, 70.0, 28_001), extremes]))
    assert y.min() >= function.low - 1e-12 and y.max() <= function.high + 1e-12
    if math.isfinite(function.low):
        assert y.min() == pytest.approx(function.low, abs=0.02)
    else:
        assert y.min() < -3.0
    if math.isfinite(function.high):
        assert y.max() == pytest.approx(function.high, abs=0.02)
    else:
        assert y.max() > 9.0


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
def test_results_have_the_type_of_the_argument(text: str) -> None:
    single = at(text, X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, at(text, X.astype(np.float32).astype(np.float64)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("text", TEXTS)
def test_homogeneous_activations_scale_with_their_input(text: str) -> None:
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
def test_invalid_activations_are_refused(text: str, message: str) -> None:
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


slopes = st.floats(0.0, 3.0)
lefts = st.floats(-5.0, 0.0)
rights = st.floats(0.0, 5.0)
LINE = np.linspace(-12.0, 12.0, 997)


@given(
    st.floats(0.01, 2.0),
    st.lists(st.tuples(slopes, st.tuples(lefts, rights)), max_size=3),
    st.tuples(st.floats(-2.0, 2.0), st.floats(-0.5, 1.5)),
)
def test_slopes_and_bends_come_out_as_given(outer, pairs, centre) -> None:
    result = of_slopes(outer, [slope for slope, _ in pairs], [bend for _, bend in pairs], centre)
    u = LINE - centre[0]
    expected = centre[1] + outer * u + sum(slope * np.clip(u, *bend) for slope, bend in pairs)
    np.testing.assert_allclose(result(LINE), np.clip(expected, 0.0, 1.0), atol=1e-12)


@given(st.floats(0.01, 2.0), st.lists(st.tuples(slopes, st.tuples(lefts, rights)), max_size=3))
def test_a_name_keeps_nine_digits(outer, pairs) -> None:
    function = of_slopes(outer, [slope for slope, _ in pairs], [bend for _, bend in pairs], (0.0, 0.5))
    parsed = activation(function.name).pieces
    assert parsed is not None and parsed.name == function.name
    np.testing.assert_allclose(parsed(LINE), function(LINE), atol=1e-7)
    y = parsed(LINE)
    assert (np.diff(y) >= 0.0).all() and y.min() >= 0.0 and y.max() <= 1.0
    assert parsed.folded(np.array([parsed.zero_at])) == 0.0
    np.testing.assert_allclose(parsed.folded(parsed.factor * LINE + parsed.offset), y, atol=1e-12)


def test_known_functions_are_of_this_form() -> None:
    seven = of_slopes(0.05, (0.1, 0.05), ((-0.5, 0.5), (-2.5, 2.5)), (0.0, 0.5))
    np.testing.assert_allclose(seven(LINE), activation(PLS)(LINE), atol=1e-12)
    np.testing.assert_allclose(SEVEN_PIECES(LINE), activation(PLS)(LINE), atol=1e-12)
    np.testing.assert_allclose(HARD_SIGMOID(LINE), activation("hard_sigmoid")(LINE), atol=1e-12)
    assert HARD_SIGMOID.name == "piecewise_linear(0.166666667,0.5)"
    assert PiecewiseLinear(1.0, 0.0)(LINE).tolist() == activation("relu(1)")(LINE).tolist()


def test_piecewise_linear_results_have_the_type_of_the_argument() -> None:
    function = PiecewiseLinear(0.3, 0.2, (Clamp(0.7, -0.1, 0.3),))
    assert function(LINE.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(function(LINE.astype(np.float32)), function(LINE), atol=1e-6)


@pytest.mark.parametrize(
    "name, message",
    [
        ("piecewise_linear(0,1)", "first factor must be positive"),
        ("piecewise_linear(-1,1)", "first factor must be positive"),
        ("piecewise_linear(1,0,-1,0,1)", r"its clamp \(-1, 0, 1\) needs a factor of 0 or more and low <= high"),
        ("piecewise_linear(1,0,1,1,0)", r"its clamp \(1, 1, 0\) needs a factor"),
        ("piecewise_linear(1,0,1,0,60,1,0,40)", "its clamps may reach 99 together, no more"),
        ("piecewise_linear(1,1e+40)", "not finite"),
        ("piecewise_linear(1)", r"not of the form piecewise_linear\(FACTOR,OFFSET\[,FACTOR,LOW,HIGH\]...\)"),
        ("piecewise_linear(1,0,1)", "not of the form"),
        ("piecewise_linear(1, 0)", "not of the form"),
        ("piecewise_linear(1,nan)", "not of the form"),
        ("piecewise_linear()", "not of the form"),
        ("piecewise_linear", "not of the form"),
    ],
)
def test_other_numbers_are_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        activation(name)


def test_other_names_are_none_of_these() -> None:
    with pytest.raises(ValueError, match=r"there are: .*, piecewise_linear\(FACTOR,OFFSET"):
        activation("piecewise_linears")


def test_slopes_that_fall_or_bends_on_one_side_are_refused() -> None:
    with pytest.raises(ValueError, match="outer slope of 0; it must be positive"):
        of_slopes(0.0, (), (), (0.0, 0.5))
    with pytest.raises(ValueError, match="breakpoints at 1 and 2 from the centre; they must be on both sides"):
        of_slopes(1.0, (1.0,), ((1.0, 2.0),), (0.0, 0.5))


def test_a_layer_with_bad_numbers_is_named() -> None:
    body = (input_node(4), conv_node(np.random.default_rng(0), "conv", ("image",), 3, 4))
    act = Node("act", "activation", ("conv",), {"function": "piecewise_linear(0,1)"})
    with pytest.raises(ModelError, match="layer 'act'"):
        Graph("g", (*body, act), "act")
