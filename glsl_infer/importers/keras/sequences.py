"""Converters of Keras layers on sequences. A sequence (length, channels) is a map of one row for the 2D operators.

Recurrent layers run on the CPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node, Shape
from glsl_infer.importers.keras import activations, converters
from glsl_infer.importers.keras.call import Call, Converter, array


class _AsMap:
    """A layer of sequences with the options and weights of the same layer of maps, for a map of one row.

    Args:
        layer: the layer of Keras.
        output: (length, channels) of its output.
    """

    interpolation = "nearest"

    def __init__(self, layer: Any, output: Shape) -> None:
        self._layer, self._output = layer, output

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._layer, name, "channels_last") if name == "data_format" else getattr(self._layer, name)
        if name in ("strides", "dilation_rate", "pool_size", "size"):
            return None if value is None else (1, int(value[0] if isinstance(value, (list, tuple)) else value))
        if name in ("kernel", "depthwise_kernel", "pointwise_kernel"):
            return array(value)[None]
        return ((0, 0), value) if name in ("padding", "cropping") and not isinstance(value, str) else value

    def compute_output_shape(self, shape: Shape) -> Shape:
        """Return the shape of the row, with the batch."""
        return (1, 1, *self._output)


def _row(convert: Converter) -> Converter:
    """Return the converter of a layer of sequences (length, channels), from that of the layer of maps."""

    def converted(call: Call) -> list[Node]:
        if len(call.shapes[0]) != 2:
            raise call.refused(f"an input of shape {call.shapes[0]}", "give it a sequence: (length, channels)")
        layer, row = _AsMap(call.layer, call.shape), call.node("reshape", {"shape": (1, *call.shapes[0])})
        of_map = replace(call, layer=layer, name=f"{call.name}-row", inputs=(row.name,), shape=(1, *call.shape))
        nodes = convert(replace(of_map, shapes=(row.attrs["shape"],)))
        return [row, *nodes, Node(f"{call.name}-sequence", "reshape", (nodes[-1].name,), {"shape": call.shape})]

    return converted


def _repeat_vector(call: Call) -> list[Node]:
    """Convert a RepeatVector: a 1x1 map, enlarged to a row."""
    channels = call.shapes[0][-1]
    row = call.node("reshape", {"shape": (1, 1, channels)})
    wide = Node(f"{call.name}-row", "upsample_nearest", (call.name,), {"size": (1, int(call.layer.n))})
    return [row, wide, Node(f"{call.name}-sequence", "reshape", (wide.name,), {"shape": call.shape})]


def _masking(call: Call) -> list[Node]:
    """Convert a Masking: steps in which all values are the mask's value become 0."""
    (source,), last = call.inputs, len(call.shapes[0]) - 1
    value = {"constant": np.array([call.layer.mask_value], np.float32)}
    other = Node(call.name, "tensor_binary", (source,), {"operation": "not_equal"}, value)
    over = {"reduction": "max", "axes": (last,), "keep": True}
    mask = Node(f"{call.name}-mask", "tensor_reduce", (other.name,), over)
    return [other, mask, Node(f"{call.name}-kept", "tensor_binary", (source, mask.name), {"operation": "multiply"})]


_OPS = {"LSTMCell": "lstm", "GRUCell": "gru", "SimpleRNNCell": "recurrent"}
_DIRECTIONS = {(False,): "forward", (True,): "reverse", (False, True): "both"}


def _recurrent(call: Call) -> list[Node]:
    return _through(call, [call.layer], "")


def _bidirectional(call: Call) -> list[Node]:
    return _through(call, [call.layer.forward_layer, call.layer.backward_layer], call.layer.merge_mode or "none")


def _through(call: Call, layers: Sequence[Any], merge: str) -> list[Node]:
    """Return the nodes of a recurrent layer, in one direction or both. Stacked cells run one after the other."""
    directions = tuple(bool(layer.go_backwards) for layer in layers)
    advice = "use LSTM, GRU, SimpleRNN or an RNN of their cells on one tensor, without states"
    stacks = [list(getattr(layer.cell, "cells", [layer.cell])) for layer in layers]
    kinds = [type(cell).__name__ for cell in stacks[0]]
    alike = all([type(cell).__name__ for cell in stack] == kinds for stack in stacks)
    if not set(kinds) <= {*_OPS} or not alike or len(kinds) * len(layers) > max(len(kinds), len(layers)):
        raise call.refused(f"{type(call.layer).__name__} of {', '.join(kinds)}", advice)
    if directions not in _DIRECTIONS:
        raise call.refused(f"{type(call.layer).__name__} in the directions {directions}", advice)
    if len(call.inputs) != 1 or any(layer.return_state or layer.stateful for layer in layers):
        raise call.refused("states in or out", advice)
    if merge not in ("", "concat", "sum", "ave", "mul"):
        raise call.refused(f"merge_mode='{merge}'", "use 'concat', 'sum', 'ave' or 'mul'")
    nodes: list[Node] = []
    for number, cells in enumerate(zip(*stacks)):
        first, kind = cells[0], kinds[number]
        attrs: dict[str, Any] = {"direction": _DIRECTIONS[directions]}
        attrs["function"] = activations.function_of(call, first.activation).text
        if kind != "SimpleRNNCell":
            attrs["gates"] = activations.function_of(call, first.recurrent_activation).text
        if kind == "GRUCell":
            attrs["reset_after"] = bool(first.reset_after)
        name, source = call.name, call.inputs[0]
        if nodes:
            name, source = f"{call.name}-cell-{number + 1}", f"{nodes[-1].name}-sequence"
            sequence = {"shape": (call.shapes[0][0], nodes[-1].weights["recurrent"].shape[1])}
            nodes.append(Node(source, "tensor_reshape", (nodes[-1].name,), sequence))
        nodes.append(Node(name, _OPS[kind], (source,), attrs, _gates(cells)))
    return [*nodes[:-1], *_steps(call, nodes[-1], directions, merge, bool(layers[0].return_sequences))]


def _gates(cells: Sequence[Any]) -> dict[str, NDArray[np.float32]]:
    """Return the weights of the cells of each direction, with the gates in the order of the operators."""
    weights = {
        "kernel": np.stack([array(cell.kernel) for cell in cells]),
        "recurrent": np.stack([array(cell.recurrent_kernel) for cell in cells]),
    }
    if cells[0].use_bias:
        biases = np.stack([array(cell.bias) for cell in cells])  # two of each for a GRU with reset after the product
        weights["bias"] = biases if biases.ndim == 2 else biases[:, 0]
        if biases.ndim == 3:
            weights["recurrent_bias"] = biases[:, 1]
    return weights


def _steps(call: Call, node: Node, directions: tuple[bool, ...], merge: str, every: bool) -> list[Node]:
    """Return the nodes for a layer's output from all steps (length, directions, hidden)."""
    length, hidden = call.shapes[0][0], node.weights["recurrent"].shape[1]
    nodes, parts = [node], []
    for direction, backwards in enumerate(directions):
        name = f"{call.name}-{'backward' if backwards else 'forward'}"
        first, count, step = (0, length, 1) if every else (0 if backwards else length - 1, 1, 1)
        if every and backwards and len(directions) == 1:  # Keras returns the steps in the order of computation
            first, step = length - 1, -1
        attrs = {"begin": (first, direction, 0), "size": (count, 1, hidden), "strides": (step, 1, 1)}
        nodes.append(Node(f"{name}-steps", "tensor_slice", (node.name,), attrs))
        nodes.append(
            Node(name, "tensor_reshape", (f"{name}-steps",), {"shape": (length, hidden) if every else (hidden,)})
        )
        parts.append(name)
    if len(parts) == 1:
        return nodes
    if merge == "concat":
        return [*nodes, Node(f"{call.name}-both", "tensor_concat", tuple(parts), {"axis": -1})]
    merging = {"operation": "multiply" if merge == "mul" else "add"}
    nodes.append(Node(f"{call.name}-both", "tensor_binary", tuple(parts), merging))
    if merge == "ave":
        half = {"constant": np.array([0.5], np.float32)}
        nodes.append(Node(f"{call.name}-mean", "tensor_binary", (nodes[-1].name,), {"operation": "multiply"}, half))
    return nodes


_ON_ROWS = (
    *("AveragePooling", "Conv", "Cropping", "DepthwiseConv", "MaxPooling", "SeparableConv", "UpSampling"),
    "ZeroPadding",
)
"""Names without ``1D`` of the layers of sequences that are those of maps with ``2D``."""

LAYERS: Mapping[str, Converter] = {
    **{f"{kind}1D": _row(converters.LAYERS[f"{kind}2D"]) for kind in _ON_ROWS},
    "Conv1DTranspose": _row(converters.LAYERS["Conv2DTranspose"]),
    "Bidirectional": _bidirectional,
    "GRU": _recurrent,
    "LSTM": _recurrent,
    "Masking": _masking,
    "RNN": _recurrent,
    "RepeatVector": _repeat_vector,
    "SimpleRNN": _recurrent,
}
"""Converters by class name."""
