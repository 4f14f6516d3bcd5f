"""Piecewise-linear sigmoids: parameters, names, and results."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import PLS, conv_node, input_node
from hypothesis import given
from hypothesis import strategies as st

from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.activations import activation
from glsl_infer.graph.piecewise_linear import HARD_SIGMOID, SEVEN_PIECES, Clamp, PiecewiseLinear, of_slopes

slopes = st.floats(0.0, 3.0)
lefts = st.floats(-5.0, 0.0)
rights = st.floats(0.0, 5.0)
X = np.linspace(-12.0, 12.0, 997)


@given(
    st.floats(0.01, 2.0),
    st.lists(st.tuples(slopes, st.tuples(lefts, rights)), max_size=3),
    st.tuples(st.floats(-2.0, 2.0), st.floats(-0.5, 1.5)),
)
def test_slopes_and_bends_come_out_as_given(outer, pairs, centre) -> None:
    result = of_slopes(outer, [slope for slope, _ in pairs], [bend for _, bend in pairs], centre)
    u = X - centre[0]
    expected = centre[1] + outer * u + sum(slope * np.clip(u, *bend) for slope, bend in pairs)
    np.testing.assert_allclose(result(X), np.clip(expected, 0.0, 1.0), atol=1e-12)


@given(st.floats(0.01, 2.0), st.lists(st.tuples(slopes, st.tuples(lefts, rights)), max_size=3))
def test_a_name_keeps_nine_digits(outer, pairs) -> None:
    function = of_slopes(outer, [slope for slope, _ in pairs], [bend for _, bend in pairs], (0.0, 0.5))
    parsed = activation(function.name).pieces
    assert parsed is not None and parsed.name == function.name
    np.testing.assert_allclose(parsed(X), function(X), atol=1e-7)
    y = parsed(X)
    assert (np.diff(y) >= 0.0).all() and y.min() >= 0.0 and y.max() <= 1.0
    assert parsed.folded(np.array([parsed.zero_at])) == 0.0
    np.testing.assert_allclose(parsed.folded(parsed.factor * X + parsed.offset), y, atol=1e-12)


def test_known_functions_are_of_this_form() -> None:
    seven = of_slopes(0.05, (0.1, 0.05), ((-0.5, 0.5), (-2.5, 2.5)), (0.0, 0.5))
    np.testing.assert_allclose(seven(X), activation(PLS)(X), atol=1e-12)
    np.testing.assert_allclose(SEVEN_PIECES(X), activation(PLS)(X), atol=1e-12)
    np.testing.assert_allclose(HARD_SIGMOID(X), activation("hard_sigmoid")(X), atol=1e-12)
    assert HARD_SIGMOID.name == "piecewise_linear(0.166666667,0.5)"
    assert PiecewiseLinear(1.0, 0.0)(X).tolist() == activation("relu(1)")(X).tolist()


def test_results_have_the_type_of_the_argument() -> None:
    function = PiecewiseLinear(0.3, 0.2, (Clamp(0.7, -0.1, 0.3),))
    assert function(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(function(X.astype(np.float32)), function(X), atol=1e-6)


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
