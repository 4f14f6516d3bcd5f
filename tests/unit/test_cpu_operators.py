"""Operators on vectors and tensors compared with results worked out by hand, their bounds, and their refusals."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import ROOT

from glsl_infer import cpu, ops
from glsl_infer.cpu import custom
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Node
from glsl_infer.graph.node import OBSERVED_RANGE
from glsl_infer.ops.constant_map import constant_map
from glsl_infer.ops.vector_affine import affine_node
from glsl_infer.ops.vector_binary import LARGEST

PAGE = "docs/reference/cpu-operators.md"

T = np.arange(6, dtype=np.float32).reshape(2, 3)
BOXES = np.array([[0, 0, 4, 4], [0, 1, 4, 5], [10, 10, 14, 14], [4, 4, 0, 0]], np.float32)

CASES: dict[str, tuple[str, dict[str, Any], list[Any], Any]] = {
    "matmul": ("matmul", {}, [T, T.T], [[5, 14], [14, 50]]),
    "matmul, transposed": ("matmul", {"transpose_b": True, "scale": 0.5}, [T, T], [[2.5, 7], [7, 25]]),
    "matmul, left": ("matmul", {"transpose_a": True}, [T, T], [[9, 12, 15], [12, 17, 22], [15, 22, 29]]),
    "matmul, batches": ("matmul", {}, [np.stack([T, 2 * T]), T.T], [[[5, 14], [14, 50]], [[10, 28], [28, 100]]]),
    "einsum": ("einsum", {"equation": "ij,kj->ki"}, [T, T], [[5, 14], [14, 50]]),
    "attention": ("attention", {"scale": 0.0}, [T, T, T], [[1.5, 2.5, 3.5], [1.5, 2.5, 3.5]]),
    "attention, causal": ("attention", {"scale": 0.0, "causal": True}, [T, T, T], [[0, 1, 2], [1.5, 2.5, 3.5]]),
    "attention, sharp": ("attention", {"scale": 100.0}, [T, T, T], [[3, 4, 5], [3, 4, 5]]),
    "softmax": ("tensor_softmax", {"axis": 0}, [np.zeros((2, 2), np.float32)], [[0.5, 0.5], [0.5, 0.5]]),
    "argmax": ("tensor_argmax", {"axis": 0}, [[[1, 5, 2], [1, 4, 3]]], [0, 0, 1]),
    "sort": ("sort", {"axis": 1}, [[[3, 1, 2]]], [[1, 2, 3]]),
    "sort, down": ("sort", {"descending": True, "result": "indices"}, [[3, 1, 3]], [0, 2, 1]),
    "top_k": ("top_k", {"k": 2}, [[[3, 1, 2], [0, 5, 5]]], [[3, 2], [5, 5]]),
    "top_k, indices": ("top_k", {"k": 2, "result": "indices"}, [[[3, 1, 2], [0, 5, 5]]], [[0, 2], [1, 2]]),
    "gather": ("gather", {}, [T, [1, -1, 0, 7]], [[3, 4, 5], [0, 0, 0], [0, 1, 2], [0, 0, 0]]),
    "gather, columns": ("gather", {"axis": 1}, [T, [[2], [0]]], [[[2], [0]], [[5], [3]]]),
    "reshape": ("tensor_reshape", {"shape": (3, 2)}, [T], [[0, 1], [2, 3], [4, 5]]),
    "transpose": ("tensor_transpose", {"axes": (1, 0)}, [T], [[0, 3], [1, 4], [2, 5]]),
    "concat": ("tensor_concat", {"axis": 0}, [T, T[:1]], [[0, 1, 2], [3, 4, 5], [0, 1, 2]]),
    "slice": ("tensor_slice", {"begin": (1, 0), "size": (1, 2)}, [T], [[3, 4]]),
    "reduce": ("tensor_reduce", {"reduction": "mean", "axes": (1,)}, [T], [1, 4]),
    "reduce, kept": ("tensor_reduce", {"reduction": "max", "axes": (0, -1), "keep": True}, [T], [[5]]),
    "norm": ("tensor_norm", {"epsilon": 0.0}, [[[1, 3], [5, 5.5]]], [[-1, 1], [-1, 1]]),
    "binary": ("tensor_binary", {"operation": "subtract"}, [T, [1, 1, 1]], [[-1, 0, 1], [2, 3, 4]]),
    "binary, compared": ("tensor_binary", {"operation": "greater_equal"}, [T, [1, 1, 1]], [[0, 1, 1], [1, 1, 1]]),
    "binary, whole": ("tensor_binary", {"operation": "whole_divide"}, [[-7, 7, 9], [2, 2, 3]], [-3, 3, 3]),
    "binary, floor": ("tensor_binary", {"operation": "floor_divide"}, [[-7, 7], [2, 2]], [-4, 3]),
    "binary, modulo": ("tensor_binary", {"operation": "modulo"}, [[-7, 7], [3, 3]], [2, 1]),
    "binary, remainder": ("tensor_binary", {"operation": "remainder"}, [[-7, 7], [3, 3]], [-1, 1]),
    "unary": ("tensor_unary", {"operation": "round"}, [[-1.5, 0.4, 0.5, 2.6]], [-2, 0, 0, 3]),
    "unary, not": ("tensor_unary", {"operation": "not"}, [[0, 1, -2]], [1, 0, 0]),
    "select": ("select", {}, [[[1, 0, 2], [0, 0, 1]], T, [9, 8, 7]], [[0, 8, 2], [9, 8, 5]]),
    "pad": ("tensor_pad", {"padding": (1, 0, 0, 1), "value": 7.0}, [T], [[7, 7, 7, 7], [0, 1, 2, 7], [3, 4, 5, 7]]),
    "pad, reflect": (
        "tensor_pad",
        {"padding": (0, 0, 0, 2), "mode": "reflect"},
        [T],
        [[0, 1, 2, 1, 0], [3, 4, 5, 4, 3]],
    ),
    "slice, back": ("tensor_slice", {"begin": (1, 2), "size": (2, 2), "strides": (-1, -2)}, [T], [[5, 3], [2, 0]]),
    "points": ("gather_points", {}, [T, [[1, 2], [0, -1], [5, 0]]], [5, 2, 0]),
    "points, rows": ("gather_points", {}, [T, [[1], [0]]], [[3, 4, 5], [0, 1, 2]]),
    "points, of each": ("gather_points", {"batch": 1}, [T, [[2], [0]]], [2, 3]),
    "elements": ("gather_elements", {"axis": 1}, [T, [[2, 0], [1, 9]]], [[2, 0], [4, 0]]),
    "scatter": ("scatter", {}, [T, [[1], [7]], [[9, 9, 9], [8, 8, 8]]], [[0, 1, 2], [9, 9, 9]]),
    "scatter, add": ("scatter", {"reduction": "add"}, [T, [[0, 0], [0, 0]], [1, 2]], [[3, 1, 2], [3, 4, 5]]),
    "sums": ("cumulative_sum", {"axis": 1}, [T], [[0, 1, 3], [3, 7, 12]]),
    "sums, before": ("cumulative_sum", {"axis": 1, "exclusive": True, "reverse": True}, [T], [[3, 2, 0], [9, 5, 0]]),
    "function": ("tensor_function", {"function": "relu(2)"}, [T], [[0, 1, 2], [2, 2, 2]]),
    # Box 1 shares 12 of 20 with box 0; box 3 is box 0 with its corners exchanged.
    "nms": ("non_max_suppression", {"most": 4, "overlap": 0.5}, [BOXES, [0.9, 0.8, 0.7, 0.6]], [0, 2, -1, -1]),
    "nms, loose": ("non_max_suppression", {"most": 3, "overlap": 0.7}, [BOXES, [0.9, 0.8, 0.7, 0.6]], [0, 1, 2]),
    "nms, classes": (
        "class_suppression",
        {"most": 2, "overlap": 0.5, "least_score": 0.3},
        [BOXES, [[0.9, 0.8, 0.7, 0.6], [0.1, 0.4, 0.2, 0.25]]],
        [[0, 0], [0, 2], [1, 1], [-1, -1]],
    ),
    "nms, centres": (
        "class_suppression",
        {"most": 2, "overlap": 0.2, "centres": True},
        [[[2, 2, 4, 4], [8, 2, 2, 4], [2, 3, 4, 2]], [[0.7, 0.9, 0.5]]],
        [[0, 1], [0, 0]],
    ),
    "nms, scores": ("non_max_suppression", {"most": 2, "least_score": 0.75}, [BOXES, [0.7, 0.8, 0.7, 0.6]], [1, -1]),
}


def node(op: str, attrs: dict[str, Any], count: int, **weights: Any) -> Node:
    operator = ops.get(op)
    arrays = {name: np.asarray(weight, np.float32) for name, weight in weights.items()}
    return Node("n", op, tuple(f"i{i}" for i in range(count)), {**operator.attrs, **attrs}, arrays)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_operator_computes_the_values_worked_out_by_hand(name: str, dtype: type) -> None:
    op, attrs, operands, expected = CASES[name]
    inputs = [np.asarray(array, dtype) for array in operands]
    layer = node(op, attrs, len(inputs))
    result = cpu.compute(layer, inputs)
    assert result.dtype == dtype and np.allclose(result, expected, atol=1e-6)
    assert ops.get(op).shape(layer, [array.shape for array in inputs]) == result.shape


def test_every_operator_is_here() -> None:
    tested_elsewhere = {"linear", "psroi_align", "proposals", "lstm", "gru", "recurrent", "grid_sample", "detections"}
    assert {op for op, *_ in CASES.values()} | tested_elsewhere == set(cpu.KERNELS)
    for name, kernel in cpu.KERNELS.items():
        assert kernel.about.endswith(".") and ops.get(name).on_cpu


def test_the_page_has_every_operator_with_its_attributes() -> None:
    rows = {
        line.split("`")[1]: line for line in (ROOT / PAGE).read_text("utf-8").splitlines() if line.startswith("* `")
    }
    for name, kernel in cpu.KERNELS.items():
        for word in (*kernel.attrs, *kernel.weights):
            assert f"`{word}`" in rows[name], (name, word)


def test_linear_and_constants() -> None:
    layer = node("linear", {}, 1, kernel=[[1, 2], [0, 1], [1, 0]], bias=[0.5, -1])
    assert cpu.compute(layer, [T]).tolist() == [[2.5, 0], [8.5, 9]]
    layer = node("tensor_binary", {"operation": "divide", "constant_first": True}, 1, constant=[6])
    assert cpu.compute(layer, [T[1:]]).tolist() == [[2, 1.5, np.float32(1.2)]]
    layer = node("tensor_norm", {"epsilon": 0.0}, 1, gamma=[2, 2, 2], beta=[1, 0, 0])
    assert np.allclose(cpu.compute(layer, [T[:1]]), [[1 - 2 * np.sqrt(1.5), 0, 2 * np.sqrt(1.5)]])


def test_psroi_align_reads_the_channels_of_each_bin() -> None:
    features = np.zeros((4, 4, 8), np.float32)
    features[..., :] = np.arange(8)
    layer = node("psroi_align", {"bins": (2, 2)}, 2)
    result = cpu.compute(layer, [features, np.array([[0, 0, 3, 3], [1, 1, 2, 2]], np.float32)])
    assert result.shape == (2, 2, 2, 2) == ops.get("psroi_align").shape(layer, [(4, 4, 8), (2, 4)])
    assert result[0].reshape(-1).tolist() == list(range(8)) == result[1].reshape(-1).tolist()
    rows = np.broadcast_to(np.arange(4, dtype=np.float32)[:, None, None], (4, 4, 1))
    subject = node("psroi_align", {"bins": (1, 1), "scale": 0.5, "samples": 4}, 2)
    assert cpu.compute(subject, [rows, np.array([[0, 0, 4, 4]], np.float32)]).reshape(-1).tolist() == [1.0]


def test_proposals_move_anchors_and_suppress_overlaps() -> None:
    attrs = {"anchors": (-2.0, -2.0, 2.0, 2.0), "stride": 4.0, "picture": (8, 8), "most": 3, "least_side": 2.0}
    scores = np.array([0.1, 0.9, 0.8, 0.7], np.float32).reshape(2, 2, 1)
    deltas = np.zeros((2, 2, 4), np.float32)
    deltas[1, 0] = [-1, 1, 0, 0]  # a height up, a width to the right: onto the anchor at (0, 4)
    deltas[1, 1] = [0, 0, np.log(2), np.log(2)]
    result = cpu.compute(node("proposals", attrs, 2), [scores, deltas])
    assert np.allclose(result, [[0, 2, 2, 6], [0, 0, 8, 8], [0, 0, 2, 2]], atol=1e-5)


def test_sequences_go_both_ways() -> None:
    """Results worked out by hand, with half-open gates and weights of 1."""
    x = np.array([[1.0], [2.0]], np.float32)
    layer = node("recurrent", {"direction": "both", "function": "relu"}, 1, kernel=np.ones((2, 1, 1)),
                recurrent=np.ones((2, 1, 1)), first=[[1], [0]])  # fmt: skip
    assert cpu.compute(layer, [x]).reshape(-1).tolist() == [2, 3, 4, 2]
    layer = node("lstm", {}, 1, kernel=np.array([[[0, 0, 1, 0]]]), recurrent=np.zeros((1, 1, 4)))
    cell = [np.tanh(1) / 2, np.tanh(1) / 4 + np.tanh(2) / 2]
    assert np.allclose(cpu.compute(layer, [x]).reshape(-1), np.tanh(cell) / 2)
    weights = {"kernel": [[[0, 0, 1]]], "recurrent": [[[0, 0, 1]]], "recurrent_bias": [[0, 0, 1]]}
    before, after = (
        cpu.compute(node("gru", {"reset_after": reset_after}, 1, **weights), [x]).reshape(-1) for reset_after in (0, 1)
    )
    assert np.allclose(before, [np.tanh(2) / 2, np.tanh(2) / 4 + np.tanh(3 + np.tanh(2) / 4) / 2])
    first = np.tanh(1.5) / 2
    assert np.allclose(after, [first, first / 2 + np.tanh(2 + (first + 1) / 2) / 2])


def test_grid_sample_reads_between_pixels_and_outside() -> None:
    x = np.arange(4, dtype=np.float32).reshape(2, 2, 1)
    grid = np.array([[[0, 0], [-0.5, -0.5], [3, 0]]], np.float32)
    assert cpu.compute(node("grid_sample", {}, 2), [x, grid]).reshape(-1).tolist() == [1.5, 0, 0]
    border = node("grid_sample", {"padding": "border", "align_corners": True}, 1, grid=grid)
    assert cpu.compute(border, [x]).reshape(-1).tolist() == [1.5, 0.75, 2]


def test_detections_are_sorted_and_end_in_zeros() -> None:
    anchors = [[0.5, 0.5, 1, 1], [0.5, 0.5, 1, 1], [2.5, 2.5, 1, 1]]
    attrs = {"classes": 2, "most": 3, "least_score": 0.2}
    deltas = np.zeros((3, 4), np.float32)
    deltas[2] = [10, 0, 5 * np.log(2), 0]  # a height down, and twice as high
    scores = np.array([[0, 0.6, 0.5], [0.9, 0.1, 0.7], [0.9, 0.3, 0.1]], np.float32)
    result = cpu.compute(node("detections", attrs, 2, anchors=anchors), [deltas, scores])
    expected = [[0, 0, 1, 1, 1, 0.7, 1], [2.5, 2, 4.5, 3, 0, 0.3, 1], [0] * 7]
    assert np.allclose(result, expected, atol=1e-6)
    each = cpu.compute(node("detections", {**attrs, "each_class": True}, 2, anchors=anchors), [deltas, scores])
    assert np.allclose(each[:, 4:], [[1, 0.7, 1], [0, 0.6, 1], [0, 0.3, 1]])


@pytest.mark.parametrize(
    "op, attrs, shapes, message",
    [
        ("select", {}, [(2,), (2,)], "2 inputs and 0 constants; give 3 in all"),
        ("tensor_unary", {"operation": "twice"}, [(2,)], "there are: acos"),
        ("tensor_pad", {"padding": (1,)}, [(2,)], "for each axis"),
        ("gather_points", {}, [(2, 3), (4, 3)], "indices of shape"),
        ("gather_elements", {"axis": 0}, [(2, 3), (4, 4)], "indices of shape"),
        ("scatter", {}, [(2, 3), (1, 1), (1, 2)], "updates of shape"),
        ("cumulative_sum", {"axis": 1}, [(2,)], "axis 1 of a tensor with 1 axes"),
        ("lstm", {}, [(2, 3)], "a kernel of shape"),
        ("grid_sample", {"mode": "cubic"}, [(2, 2, 1), (1, 1, 2)], "there are"),
        ("detections", {"classes": 2, "most": 3}, [(3, 4), (3, 3)], "anchors of None"),
        ("class_suppression", {"most": 3}, [(3, 4), (3,)], "it needs 2 axes"),
        ("matmul", {}, [(2, 3), (2, 3)], "3 columns for 2 rows"),
        ("matmul", {}, [(3,), (3, 2)], "give two axes or more to both"),
        ("matmul", {}, [(2, 3)], "1 inputs; it reads 2"),
        ("matmul", {}, [(1 << 20, 1 << 10), (1 << 10, 1 << 20)], "multiplications; at most"),
        ("einsum", {"equation": "ij,jk"}, [(2, 3), (3, 2)], "give one like"),
        ("einsum", {"equation": "ij,jk->ii"}, [(2, 3), (3, 2)], "repeats a letter"),
        ("einsum", {"equation": "ij,jk->ik"}, [(2, 3), (2, 2)], "does not fit"),
        ("attention", {"heads": 2}, [(2, 3)] * 3, "attention of 2 heads"),
        ("tensor_softmax", {"axis": 2}, [(2, 3)], "axis 2 of a tensor with 2 axes"),
        ("top_k", {"k": 4}, [(2, 3)], "the 4 largest"),
        ("tensor_reshape", {"shape": (4,)}, [(2, 3)], "give as many numbers"),
        ("tensor_transpose", {"axes": (0, 0)}, [(2, 3)], "name each once"),
        ("tensor_concat", {"axis": 0}, [(2, 3), (2, 4)], "may differ on that axis only"),
        ("tensor_slice", {"begin": (0, 0), "size": (3, 1)}, [(2, 3)], "stay inside it"),
        ("tensor_slice", {"begin": (0, 0), "size": (10**15, 1), "strides": (1, 1)}, [(2, 3)], "stay inside it"),
        ("tensor_slice", {"begin": (0, 0), "size": (10**30, 1), "strides": (-1, 1)}, [(2, 3)], "stay inside it"),
        ("tensor_reduce", {"reduction": "median", "axes": (0,)}, [(2, 3)], "there are: mean"),
        ("tensor_binary", {"operation": "nand"}, [(2,), (2,)], "there are: add"),
        ("tensor_binary", {"operation": "add"}, [(2,)], "1 operands"),
        ("non_max_suppression", {"most": 2}, [(3, 5), (3,)], r"give \(n, 4\) and \(n,\)"),
        ("psroi_align", {"bins": (2, 2)}, [(4, 4, 6), (1, 4)], "a multiple of the bins"),
        ("proposals", {"anchors": (1.0,) * 4, "most": 2}, [(2, 2, 2), (2, 2, 8)], "1 anchors with scores"),
        ("linear", {}, [(2, 3)], "a kernel of shape"),
    ],
)
def test_invalid_shapes_and_attributes_are_refused(
    op: str, attrs: dict[str, Any], shapes: list[tuple[int, ...]], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        ops.get(op).shape(node(op, attrs, len(shapes)), shapes)


def test_moved_operators_do_the_same() -> None:
    operator = ops.get("cpu:max_pool")
    node = Node("n", "cpu:max_pool", ("a",), {"pool": (2, 2), "strides": (2, 2), "padding": (0, 0, 0, 0)})
    x = np.arange(16, dtype=np.float32).reshape(4, 4, 1)
    assert operator.on_cpu and operator.shape(node, [(4, 4, 1)]) == (2, 2, 1)
    assert cpu.compute(node, [x]).reshape(-1).tolist() == [5, 7, 13, 15]


@pytest.mark.parametrize("name", ["no_colon", "a:b:c", "../x:f", "a b:c", ""])
def test_names_of_functions(name: str) -> None:
    with pytest.raises(InputError, match="give MODULE:FUNCTION"):
        custom.load(name)


def test_functions_that_cannot_be_loaded() -> None:
    with pytest.raises(InputError, match="the module cannot be imported"):
        custom.load("no_such_module_anywhere:f")
    with pytest.raises(InputError, match="has no 'nothing'"):
        custom.load("json:nothing")
    with pytest.raises(InputError, match="is not a function"):
        custom.load("json:__name__")


def test_functions_of_the_current_folder_are_found_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_operator.py").write_text("def twice(x):\n    return 2 * x\n")
    monkeypatch.chdir(tmp_path)
    before = [*sys.path]
    monkeypatch.setattr(sys, "path", [*before])
    monkeypatch.setattr(custom, "_functions", {})
    monkeypatch.setattr(custom, "_classes", {})
    custom.load_all([])
    assert sys.path == before
    for _ in range(2):
        custom.load_all(["own_operator:twice"])
    assert sys.path == [*before, str(tmp_path)] and custom.loaded() == ["Twice=own_operator:twice"]


def test_rows_of_a_map_with_an_odd_number_of_channels() -> None:
    values = np.arange(12.0).reshape(2, 2, 3)
    rows = Node("rows", "flatten_rows", ("x",), {"first": 0, "count": 4})
    assert ops.get("flatten_rows").shape(rows, [(2, 2, 3)]) == (16,)
    assert ops.get("flatten_rows").reference(rows, [values]).tolist() == [
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
    [({"kind": "group"}, "a normalisation 'group'"), ({"gamma": (1.0, 2.0)}, "a gamma of 2 elements; give 1 or 3")],
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
