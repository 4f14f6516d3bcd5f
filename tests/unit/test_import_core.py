"""Rules of the importers for all formats: constants next to tensors, shapes of folded operators, output tails."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from graphs import conv_node, input_node

from glsl_infer.graph import Graph, Node, Shape
from glsl_infer.graph.host_steps import CONCATENATE, ROWS, SIGMOID, HostStep
from glsl_infer.importers.core import emit, folding
from glsl_infer.importers.core.constants import with_constant
from glsl_infer.importers.core.output_tail import with_steps
from glsl_infer.importers.tflite import evaluate

ON_MAP = (4, 5, 3)


@pytest.mark.parametrize(
    ("shape", "operation", "constant", "operators"),
    [
        (ON_MAP, "add", (), ["rescaling"]),
        (ON_MAP, "add", (3,), ["rescaling"]),
        (ON_MAP, "subtract", (1, 1, 1, 3), ["rescaling"]),
        (ON_MAP, "multiply", (4, 5, 1), ["constant_map", "binary"]),
        (ON_MAP, "add", (1, 5, 3), ["constant_map", "binary"]),
        (ON_MAP, "add", ON_MAP, ["constant_map", "add"]),
        (ON_MAP, "hypot", (3,), ["constant_map", "binary"]),
        (ON_MAP, "power", (3,), ["tensor_binary"]),
        (ON_MAP, "maximum", (), ["activation"]),
        (ON_MAP, "minimum", (3,), ["rescaling", "activation", "rescaling"]),
        ((3, 3, 3), "divide", (3, 1, 1), ["constant_map", "binary"]),
        ((3,), "divide", (3,), ["rescaling"]),
        ((3,), "hypot", (3,), ["constant_map", "reshape", "binary"]),
        ((5, 3), "add", (3,), ["tensor_binary"]),
    ],
)
def test_constants_have_shaders_on_maps_and_vectors(
    shape: Shape, operation: str, constant: Shape, operators: list[str]
) -> None:
    value = np.arange(1.0, np.prod(constant) + 1.0).reshape(constant)
    assert [node.op for node in with_constant("y", "x", shape, operation, value)] == operators


@pytest.mark.parametrize(
    ("rule", "shape", "sizes", "expected"),
    [
        (folding.unsqueezed, (2, 3), (0,), (1, 2, 3)),
        (folding.unsqueezed, (2, 3), (-1, 0), (1, 2, 3, 1)),
        (folding.unsqueezed, (2, 3), (3,), None),
        (folding.unsqueezed, (2, 3), (0, -4), None),
        (folding.squeezed, (1, 2, 1), None, (2,)),
        (folding.squeezed, (1, 2, 1), (-1,), (1, 2)),
        (folding.squeezed, (1, 2, 1), (1,), None),
        (folding.reshaped, (2, 3, 4), (0, -1), (2, 12)),
        (folding.reshaped, (2, 3, 4), (4, -1, 2), (4, 3, 2)),
        (folding.reshaped, (2, 3, 4), (5, -1), None),
        (folding.reshaped, (2, 3, 4), (-1, -1, 24), None),
    ],
)
def test_shapes_of_folded_operators(
    rule: Callable[..., Shape], shape: Shape, sizes: tuple[int, ...] | None, expected: Shape | None
) -> None:
    if expected is None:
        with pytest.raises(ValueError, match=r" of | for "):
            rule(shape, sizes)
    else:
        assert rule(shape, sizes) == expected


FOLDER = folding.Folder(2**20)


@pytest.mark.parametrize(
    ("a", "b"),
    [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (7, 3, 4)), ((5, 2, 3), (3,))],
)
def test_products_broadcast_their_batches(a: Shape, b: Shape) -> None:
    x, y = np.ones(a), np.ones(b)
    largest = folding.Folder(np.matmul(x, y).nbytes)
    assert largest.matmul(x, y).tolist() == np.matmul(x, y).tolist()
    with pytest.raises(ValueError, match="too large"):
        folding.Folder(largest.most - 1).matmul(x, y)


@pytest.mark.parametrize(
    ("shape", "counts"),
    [((2, 3), (2, 1)), ((3,), (2, 2)), ((2, 3), (4,)), ((2, 3), ()), ((1, 2), (3, 0)), ((), (2,))],
)
def test_tiles_as_numpy(shape: Shape, counts: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    tiles = folding.Folder(np.tile(x, counts).nbytes).tile(x, counts)
    assert (tiles.shape, tiles.tolist()) == (np.tile(x, counts).shape, np.tile(x, counts).tolist())


def test_an_empty_result_takes_no_memory() -> None:
    assert FOLDER.tile(np.ones((1, 1)), (2**50, 0)).shape == (2**50, 0)


@pytest.mark.parametrize("shape, message", [((2, -1), "negative"), ((1,) * 33, "33 axes"), ((2**20, 2), "too large")])
def test_shapes_are_refused_with_their_fault(shape: Shape, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FOLDER.shape(shape, 1)


def constant(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("kind", "inputs", "options"),
    [
        ("SCATTER_ND", [np.zeros((2**17, 1), np.int64), np.zeros(1), constant(1, 2**17)], {}),
        ("UNPACK", [evaluate.unknown((1, 2**40))], {"Axis": 1}),
        ("UNPACK", [np.zeros((3, 2))], {}),
        ("MEAN", [evaluate.unknown((2**20, 2**20)), constant(0)], {}),
        ("TILE", [np.zeros(1), constant(2**20, 2**20)], {}),
        ("RESHAPE", [np.zeros(1), np.broadcast_to(constant(1), 2**24)], {}),
    ],
)
def test_large_results_of_tflite_are_refused(kind: str, inputs: list[np.ndarray], options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"too large|parts with 1 outputs"):
        evaluate.FOLDED[kind](FOLDER, inputs, options, [()])


@pytest.mark.parametrize(
    "shape, ends, strides", [((5, 4), (4, 1), (2, 1)), ((5, 4), (-9, 4), (-1, 3)), ((3, 4), (1, 0), (1, -1))]
)
def test_strided_slices_of_tflite(shape: Shape, ends: tuple[int, int], strides: tuple[int, int]) -> None:
    x, masks = np.arange(np.prod(shape)).reshape(shape), {"BeginMask": 2, "EndMask": 0, "ShrinkAxisMask": 0}
    operands = [x, constant(-2, 0), constant(*ends), constant(*strides)]
    result = evaluate.FOLDED["STRIDED_SLICE"](FOLDER, operands, masks, [()])
    assert result.tolist() == x[-2 : ends[0] : strides[0], : ends[1] : strides[1]].tolist()


def test_views_of_large_computed_tensors_take_no_memory() -> None:
    x = evaluate.unknown((2, 2**40))
    masks = {"BeginMask": 0, "EndMask": 2, "ShrinkAxisMask": 1}
    strided = evaluate.FOLDED["STRIDED_SLICE"](FOLDER, [x, constant(1, 0), constant(2, 0), constant(1, 2)], masks, [()])
    parts = evaluate.FOLDED["UNPACK"](FOLDER, [x], {}, [(), ()])
    assert (strided.shape, [part.shape for part in parts]) == ((2**39,), [(2**40,)] * 2)


@pytest.mark.parametrize(
    ("channels", "operators"),
    [
        ((0, 3), ["channel_gather", "conv2d", "channel_gather", "channel_gather", "concat"]),
        ((0, 64), ["channel_gather", "conv2d", "channel_gather", "channel_gather", "concat"]),
        ((2, 6), ["channel_gather"]),  # each slice gets other lanes
        ((3, 64), ["channel_gather"]),
    ],
)
def test_channels_of_zeros(channels: tuple[int, int], operators: list[str]) -> None:
    nodes = emit.padded("n", "x", (4, 4, 7), [(0, 0), (0, 0), channels])
    assert [node.op for node in nodes] == operators
    body = [input_node(4), conv_node(np.random.default_rng(0), "x", ("image",), 3, 7)]
    assert Graph("padded", [*body, *nodes], nodes[-1].name).shapes[nodes[-1].name] == (4, 4, 7 + sum(channels))


def test_concatenations_in_one_another_are_one_step() -> None:
    nodes = [input_node(5), *(Node(f"map{index}", "conv2d", ("image",)) for index in range(3))]
    nodes += [Node(f"rows{index}", "tensor_reshape", (f"map{index}",), {"shape": (20, 3)}) for index in range(3)]
    nodes.append(Node("inner", "tensor_concat", ("rows0", "rows1"), {"axis": 0}))
    nodes.append(Node("outer", "tensor_concat", ("inner", "rows2"), {"axis": 0}))
    nodes.append(Node("end", "tensor_function", ("outer",), {"function": "sigmoid"}))
    shapes: dict[str, Shape] = {node.name: (20, 3) if node.name.startswith("rows") else ON_MAP for node in nodes}
    shapes |= {"inner": (40, 3), "outer": (60, 3), "end": (60, 3)}
    output = with_steps("scores", "end", nodes, shapes)
    assert output.layers == ("map0", "map1", "map2")
    assert output.steps == (HostStep(ROWS, 3), HostStep(CONCATENATE), HostStep(SIGMOID))
