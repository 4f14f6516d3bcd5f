"""Keras layers on sequences -> nodes. A sequence (length, channels) is a map of one row for the 2D operators.

Recurrent layers run on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node
from glsl_infer.importers.core.convolutions import PLAIN, same_padding, transposed
from glsl_infer.importers.keras import activations
from glsl_infer.importers.keras.call import Call, Converter, array, bias, kernel


class _Row:
    """A chain of nodes on a sequence as a map of one row. The first has the call's name."""

    def __init__(self, call: Call) -> None:
        if len(call.shapes[0]) != 2:
            raise call.refused(f"an input of shape {call.shapes[0]}", "give it a sequence: (length, channels)")
        data_format = getattr(call.layer, "data_format", "channels_last")
        if data_format != "channels_last":
            raise call.refused(f"data_format='{data_format}'", "only 'channels_last' can be exported")
        self.call = call
        self.length, self.channels = call.shapes[0]
        self.nodes = [call.node("reshape", {"shape": (1, self.length, self.channels)})]

    def add(self, part: str, op: str, attrs: Mapping[str, Any], **weights: NDArray[np.float32]) -> str:
        """Append a node that reads the last one; return its name."""
        name = f"{self.call.name}-{part}"
        self.nodes.append(Node(name, op, (self.nodes[-1].name,), dict(attrs), weights))
        return name

    def activated(self) -> None:
        """Append the layer's own activation."""
        self.nodes += activations.own_activation(self.call, self.nodes[-1].name)

    def end(self) -> list[Node]:
        """Return the nodes, with the row reshaped to a sequence."""
        self.add("sequence", "reshape", {"shape": self.call.shape})
        return self.nodes

    def window(self, taps: int, stride: int, dilation: int = 1) -> dict[str, Any]:
        """Return the attributes of a window over the row."""
        kind = str(self.call.layer.padding)
        before, after = (0, 0)
        if kind == "same":
            before, after = same_padding(self.length, taps, stride, dilation)
        elif kind == "causal":
            before = dilation * (taps - 1)
        elif kind != "valid":
            raise self.call.refused(f"padding='{kind}'", "use 'same', 'valid' or 'causal'")
        return {"strides": (1, stride), "padding": (0, 0, before, after)}


def _single(value: Any) -> int:
    return int(value[0] if isinstance(value, (list, tuple)) else value)


def _convolution(row: _Row, part: str, weights: NDArray[np.float32], groups: int, own: NDArray[np.float32]) -> None:
    layer = row.call.layer
    dilation = _single(layer.dilation_rate)
    attrs = {
        **PLAIN,
        **row.window(weights.shape[0], _single(layer.strides), dilation),
        "groups": groups,
        "dilations": (1, dilation),
    }
    row.add(part, "conv2d", attrs, kernel=weights[None], bias=own)


def _conv(call: Call) -> list[Node]:
    row, weights = _Row(call), kernel(call)
    _convolution(row, "row", weights, int(call.layer.groups), bias(call, weights.shape[2]))
    row.activated()
    return row.end()


def _depthwise(call: Call) -> list[Node]:
    row, weights = _Row(call), kernel(call)
    taps, channels, multiplier = weights.shape
    outputs = channels * multiplier
    _convolution(row, "row", weights.reshape(taps, 1, outputs), channels, bias(call, outputs))
    row.activated()
    return row.end()


def _separable(call: Call) -> list[Node]:
    row, weights = _Row(call), array(call.layer.depthwise_kernel)
    taps, channels, multiplier = weights.shape
    outputs, pointwise = channels * multiplier, array(call.layer.pointwise_kernel)
    _convolution(row, "row", weights.reshape(taps, 1, outputs), channels, np.zeros(outputs, np.float32))
    row.add("pointwise", "conv2d", PLAIN, kernel=pointwise[None], bias=bias(call, pointwise.shape[2]))
    row.activated()
    return row.end()


def _conv_transpose(call: Call) -> list[Node]:
    row, weights, layer = _Row(call), kernel(call), call.layer  # (taps, filters, channels)
    stride, dilation = _single(layer.strides), _single(layer.dilation_rate)
    if stride != 1 and dilation != 1:
        raise call.refused(f"strides={stride} with dilation_rate={dilation}", "give one of them")
    row.nodes += transposed(
        f"{call.name}-row",
        call.name,
        weights[None],
        bias(call, weights.shape[1]),
        strides=(1, stride),
        shape=(1, *call.shapes[0]),
        output_size=(1, call.shape[0]),
        same=layer.padding != "valid",
        dilations=(1, dilation),
        activation=activations.own_activation(call, f"{call.name}-row"),
    )
    return row.end()


def _pool(op: str) -> Converter:
    def convert(call: Call) -> list[Node]:
        row, taps = _Row(call), _single(call.layer.pool_size)
        stride = taps if call.layer.strides is None else _single(call.layer.strides)
        row.add("row", op, {"pool": (1, taps), **row.window(taps, stride)})
        return row.end()

    return convert


def _up_sampling(call: Call) -> list[Node]:
    row = _Row(call)
    row.add("row", "upsample_nearest", {"size": (1, _single(call.layer.size))})
    return row.end()


def _zero_padding(call: Call) -> list[Node]:
    row = _Row(call)
    before, after = (int(count) for count in call.layer.padding)
    row.add("row", "zero_padding", {"padding": (0, 0, before, after)})
    return row.end()


def _cropping(call: Call) -> list[Node]:
    row, before = _Row(call), int(call.layer.cropping[0])
    row.add("row", "spatial_slice", {"begin": (0, before), "size": (1, call.shape[0]), "strides": (1, 1)})
    return row.end()


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
    for index, backwards in enumerate(directions):
        name = f"{call.name}-{'backward' if backwards else 'forward'}"
        at = 0 if backwards else length - 1
        begin, size, strides = (0 if every else at, index, 0), (length if every else 1, 1, hidden), (1, 1, 1)
        if every and backwards and len(directions) == 1:  # Keras returns the steps in the order of computation
            begin, strides = (length - 1, index, 0), (-1, 1, 1)
        cut = {"begin": begin, "size": size, "strides": strides}
        nodes.append(Node(f"{name}-steps", "tensor_slice", (node.name,), cut))
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


LAYERS: Mapping[str, Callable[[Call], list[Node]]] = {
    "AveragePooling1D": _pool("average_pool"),
    "Bidirectional": _bidirectional,
    "Conv1D": _conv,
    "Conv1DTranspose": _conv_transpose,
    "Cropping1D": _cropping,
    "DepthwiseConv1D": _depthwise,
    "GRU": _recurrent,
    "LSTM": _recurrent,
    "Masking": _masking,
    "MaxPooling1D": _pool("max_pool"),
    "RNN": _recurrent,
    "RepeatVector": _repeat_vector,
    "SeparableConv1D": _separable,
    "SimpleRNN": _recurrent,
    "UpSampling1D": _up_sampling,
    "ZeroPadding1D": _zero_padding,
}
"""Converters by class name."""
