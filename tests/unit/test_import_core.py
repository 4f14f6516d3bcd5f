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
