"""CPU operators compared with results worked out by hand, and their refusals."""

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
    "nms, scores": (
        "non_max_suppression",
        {"most": 2, "least_score": 0.75},
        [BOXES, [0.7, 0.8, 0.7, 0.6]],
        [1, -1],
    ),
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
    others = {"linear", "psroi_align", "proposals", "lstm", "gru", "recurrent", "grid_sample", "detections"}
    assert {op for op, *_ in CASES.values()} | others == set(cpu.KERNELS)
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
        ("scatter", {}, [(2, 3), (1, 1), (1, 2)], "numbers of shape"),
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
