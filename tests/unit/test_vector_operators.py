"""Operators on vectors: shapes, references by hand, bounds, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from glsl_infer import ops
from glsl_infer.errors import ModelError
from glsl_infer.graph import Node
from glsl_infer.graph.node import OBSERVED_RANGE
from glsl_infer.ops.constant_map import constant_map
from glsl_infer.ops.vector_affine import affine_node
from glsl_infer.ops.vector_binary import LARGEST


def test_rows_of_a_map_with_an_odd_number_of_channels() -> None:
    values = np.arange(12.0).reshape(2, 2, 3)
    whole = Node("rows", "flatten_rows", ("x",), {"first": 0, "count": 4})
    assert ops.get("flatten_rows").shape(whole, [(2, 2, 3)]) == (16,)
    assert ops.get("flatten_rows").reference(whole, [values]).tolist() == [
        *(0, 1, 3, 4),  # channels 0 and 1 of the first row of pixels
        *(6, 7, 9, 10),
        *(2, 0, 5, 0),  # channel 2, and an empty lane
        *(8, 0, 11, 0),
    ]
    middle = Node("rows", "flatten_rows", ("x",), {"first": 1, "count": 2})
    assert ops.get("flatten_rows").reference(middle, [values]).tolist() == [6, 7, 9, 10, 2, 0, 5, 0]
    with pytest.raises(ModelError, match="rows 3 to 5 of a map with 4"):
        ops.get("flatten_rows").shape(Node("rows", "flatten_rows", ("x",), {"first": 3, "count": 2}), [(2, 2, 3)])


def test_a_map_of_two_vectors() -> None:
    node = Node("map", "vector_map", ("a", "b"), {"shape": (1, 3, 2), "activation": "relu"})
    assert ops.get("vector_map").shape(node, [(2,), (4,)]) == (1, 3, 2)
    operator = ops.get("vector_map").reference(node, [np.array([1.0, -2.0]), np.array([3.0, 4.0, 5.0, -6.0])])
    assert operator.tolist() == [[[1, 0], [3, 4], [5, 0]]]
    for lengths in ([(3,), (3,)], [(2,), (2,)]):
        with pytest.raises(ModelError, match="in whole pixels"):
            ops.get("vector_map").shape(node, lengths)


def test_numbers_of_a_vector() -> None:
    node = Node("some", "vector_gather", ("x",), {"channels": (2, 0, 2)})
    assert ops.get("vector_gather").shape(node, [(3,)]) == (3,)
    assert ops.get("vector_gather").reference(node, [np.array([5.0, 6.0, 7.0])]).tolist() == [7, 5, 7]
    with pytest.raises(ModelError, match="take some of 0 to 1"):
        ops.get("vector_gather").shape(node, [(2,)])


@pytest.mark.parametrize(
    "operation, expected",
    [
        ("add", [4, -1]),
        ("subtract", [-2, -3]),
        ("multiply", [3, -2]),
        ("divide", [1 / 3, -2]),
        ("maximum", [3, 1]),
        ("minimum", [1, -2]),
        ("squared_difference", [4, 9]),
        ("hypot", [10**0.5, 5**0.5]),
    ],
)
def test_two_vectors(operation: str, expected: list[float]) -> None:
    node = Node("y", "vector_binary", ("a", "b"), {"operation": operation, "activation": "linear"})
    a, b = np.array([1.0, -2.0]), np.array([3.0, 1.0])
    operator = ops.get("vector_binary")
    assert operator.shape(node, [(2,), (2,)]) == (2,)
    assert operator.reference(node, [a, b]) == pytest.approx(np.array(expected))
    rng = np.random.default_rng(0)
    spread = np.array([0.5, 2.0])
    low, high = operator.interval(node, (2,), [(a - spread, a + spread), (b - spread, b + spread)])
    for _ in range(200):
        output = operator.reference(node, [a + spread * rng.uniform(-1, 1, 2), b + spread * rng.uniform(-1, 1, 2)])
        assert (low - 1e-9 <= output).all() and (output <= high + 1e-9).all()


def test_a_divisor_that_may_be_0_has_no_bound() -> None:
    node = Node("y", "vector_binary", ("a", "b"), {"operation": "divide", "activation": "linear"})
    ends = (np.array([-1.0]), np.array([1.0]))
    low, high = ops.get("vector_binary").interval(node, (1,), [ends, ends])
    assert (low, high) == (-LARGEST, LARGEST)


def test_two_vectors_of_other_lengths() -> None:
    node = Node("y", "vector_binary", ("a", "b"), {"operation": "multiply", "activation": "linear"})
    assert ops.get("vector_binary").shape(node, [(1,), (4,)]) == (4,)
    with pytest.raises(ModelError, match="two vectors of one length"):
        ops.get("vector_binary").shape(node, [(3,), (4,)])


def test_factors_and_offsets_of_24_bits() -> None:
    factor, offset = np.array([3.0, -1e-3, 0.7]), np.array([0.0, 100.0, -1e-2])
    node = affine_node("y", "x", factor, offset)
    assert np.abs(node.weights["factor"] - factor).max() <= 4.0 * 2.0**-24
    assert np.abs(node.weights["offset"] - offset).max() <= 128.0 * 2.0**-24
    x = np.array([1.0, 2.0, -3.0])
    operator = ops.get("vector_affine").reference(node, [x])
    assert operator == pytest.approx(factor * x + offset, abs=1e-4)
    low, high = ops.get("vector_affine").interval(node.with_attrs(activation="relu"), (3,), [(x - 1, x + 1)])
    assert low.tolist() == pytest.approx([0.0, 99.997, 0.0]) and (high >= operator).all()


def test_softmax() -> None:
    node = Node("y", "vector_softmax", ("x",))
    operator = ops.get("vector_softmax").reference(node, [np.array([0.0, np.log(3.0)])])
    assert operator == pytest.approx(np.array([0.25, 0.75]))


@pytest.mark.parametrize(
    "kind, expected",
    [
        ("layer", [-1.0, 0.0, 1.0]),
        ("rms", np.array([1, 3, 5]) / np.sqrt(35 / 3)),
        ("unit", np.array([1, 3, 5]) / np.sqrt(35)),
    ],
)
def test_each_norm_of_a_vector_by_hand(kind: str, expected: list[float]) -> None:
    attrs = {"kind": kind, "gamma": (1.0, 2.0, 3.0), "beta": (0.5,), "epsilon": 0.0, "activation": "linear"}
    node = Node("y", "vector_norm", ("x",), attrs)
    x = np.array([1.0, 3.0, 5.0])
    exact = np.asarray(expected) * (np.sqrt(1.5) if kind == "layer" else 1.0) * [1, 2, 3] + 0.5
    operator = ops.get("vector_norm").reference(node, [x])
    assert operator == pytest.approx(exact)
    low, high = ops.get("vector_norm").interval(node, (3,), [(x, x)])
    assert (low <= operator).all() and (operator <= high).all()


@pytest.mark.parametrize(
    "attrs, message",
    [({"kind": "group"}, "a normalisation 'group'"), ({"gamma": (1.0, 2.0)}, "2 numbers as gamma of 3")],
)
def test_normalisations_that_are_refused(attrs: dict[str, object], message: str) -> None:
    node = Node("y", "vector_norm", ("x",), {**ops.get("vector_norm").attrs, **attrs})
    with pytest.raises(ModelError, match=message):
        ops.get("vector_norm").shape(node, [(3,)])


def test_partial_sums_need_a_row_of_weights_for_each_value_and_columns_for_all() -> None:
    operator = ops.get("dense_products")
    for length, columns in ((32, 1), (31, 2), (33, 2)):
        weights = {"kernel": np.ones((32, 3), np.float32)}
        node = Node("sums", "dense_products", ("x",), {"columns": columns, "scale": None}, weights)
        with pytest.raises(ModelError, match="check the weights"):
            operator.shape(node, [(length,)])
    assert operator.shape(node, [(32,)]) == (2, 3)


def test_normalisation_without_factors_and_offsets() -> None:
    x = np.array([1.0, 2.0, 6.0])
    attrs = {**ops.get("vector_norm").attrs, "epsilon": 0.0}
    operator = ops.get("vector_norm").reference(Node("y", "vector_norm", ("x",), attrs), [x])
    assert operator == pytest.approx((x - 3.0) / np.sqrt(14.0 / 3.0))
    with pytest.raises(ModelError, match="with an epsilon of -1"):
        ops.get("vector_norm").shape(Node("y", "vector_norm", ("x",), {**attrs, "epsilon": -1.0}), [(3,)])


def test_the_range_of_constants_includes_0() -> None:
    for value, ends in (([2.0, 5.0], (0.0, 5.0)), ([-3.0, -1.0], (-3.0, 0.0)), ([-1.0, 4.0], (-1.0, 4.0))):
        assert constant_map("c", np.reshape(value, (1, 1, 2))).attrs[OBSERVED_RANGE] == ends
