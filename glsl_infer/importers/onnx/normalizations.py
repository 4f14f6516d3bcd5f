"""Converters of normalisations by learnt statistics and by the tensor's own statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.importers.core import emit
from glsl_infer.importers.onnx import relayout
from glsl_infer.importers.onnx.arithmetic import binary_operation
from glsl_infer.importers.onnx.call import Call, Converter
from glsl_infer.importers.onnx.convolutions import bias_of
from glsl_infer.importers.onnx.norm_pieces import GROUP
from glsl_infer.importers.onnx.relayout import placed
from glsl_infer.importers.onnx.slice_concat_pad import for_each_map
from glsl_infer.importers.onnx.view import View, default_order, fresh

Doubles = NDArray[np.float64]

_WEIGHTS = ("gamma", "beta", "mean", "variance")


def _batch(call: Call) -> list[View]:
    """Convert a BatchNormalization with learnt statistics."""
    view = call.view()
    if call.attribute("training_mode", 0) or not call.attribute("spatial", 1) or len(view.axes) < 2:
        raise call.refused("in training mode, or with statistics of each pixel", "export the model for inference")
    rank, channels = len(view.axes), view.shape[1]
    weights = {name: bias_of(call, index + 1, channels) for index, name in enumerate(_WEIGHTS)}
    epsilon = float(call.attribute("epsilon", 1e-5))
    if rank in (3, 4) and view.shape[0] == 1:
        node, _ = call.map()
        normalized_node = call.nodes.emit("batch_norm", node, part="norm", weights=weights, epsilon=epsilon)
        return [call.mapped(normalized_node, rank)]
    if rank == 2 and view.shape[0] == 1 and len(call.nodes.shape(view.node)) == 1:
        flat = relayout.ordered(call.nodes, view, (0, 1))
        normalized_node = call.nodes.emit("batch_norm", flat.node, part="norm", weights=weights, epsilon=epsilon)
        return [flat.at(normalized_node)]
    scale = weights["gamma"] / np.sqrt(weights["variance"].astype(np.float64) + epsilon)
    offset = weights["beta"] - weights["mean"] * scale
    view, dim = placed(call.nodes, view, 1)
    shape = [channels if index == dim else 1 for index in range(len(call.nodes.shape(view.node)))]
    normalized_node = call.nodes.affine(view.node, scale.reshape(shape), offset.reshape(shape))
    return [view.at(normalized_node)]


def over_map(call: Call, groups: int, epsilon: float, gamma: Doubles, beta: Doubles) -> View:
    """Return a normalisation over rows, columns and ``groups`` groups of channels."""
    nodes, rank = call.nodes, len(call.view().axes)
    node, (_, _, channels) = call.map()
    if channels % groups:
        raise call.refused(f"{groups} groups of {channels} channels", "give a divisor")
    weights = [tuple(value.reshape(-1).tolist()) for value in (gamma, beta)]
    shape = nodes.shape(node)
    return call.mapped(nodes.add(emit.over_map(nodes.new_name("norm"), node, shape, groups, epsilon, *weights)), rank)


def _instance(call: Call) -> list[View]:
    channels = call.view().shape[1]
    gamma, beta = (bias_of(call, index, channels).astype(np.float64) for index in (1, 2))
    return [over_map(call, channels, float(call.attribute("epsilon", 1e-5)), gamma, beta)]


def _group(call: Call) -> list[View]:
    view = call.view()
    channels, groups = view.shape[1], int(call.attribute("num_groups"))
    if groups < 1 or channels % groups:
        raise call.refused(f"{groups} groups of {channels} channels", "give a divisor")
    weights = []
    for index in (1, 2):
        value = call.finite(call.constant(index, "weights"), "weights").reshape(-1)
        is_per_group = value.size == groups and groups != channels
        weights.append(np.repeat(value, channels // groups) if is_per_group else value)
    if any(value.size not in (1, channels) for value in weights):
        raise call.refused(f"weights of {[value.size for value in weights]} numbers", "give one for each channel")
    return [over_map(call, groups, float(call.attribute("epsilon", 1e-5)), *weights)]


def _layer(call: Call) -> list[View]:
    view = call.view()
    rank = len(view.axes)
    axis = call.axis(int(call.attribute("axis", -1)), rank)
    kind = "rms" if call.kind in ("RMSNormalization", "SimplifiedLayerNormalization") else "layer"
    return [normalized(call, view, range(axis, rank), kind, float(call.attribute("epsilon", 1e-5)), _weights(call))]


def _weights(call: Call) -> list[Doubles]:
    """Return the factors and the addends of a normalisation, which are its second and third input."""
    return [
        call.finite(call.constant(index, "weights"), "weights") if call.has(index) else np.asarray(default)
        for index, default in ((1, 1.0), (2, 0.0))
    ]


def normalized(
    call: Call, view: View, axes: Sequence[int], kind: str, epsilon: float, weights: Sequence[Doubles]
) -> View:
    """Return a tensor normalised over axes, times weights[0], plus weights[1]. The weights broadcast to its shape."""
    long = [axis for axis in axes if view.shape[axis] > 1] or list(axes)[-1:]
    if len(long) > 1:
        covers_map = len(view.axes) == 4 and set(long) == {axis for axis in (1, 2, 3) if view.shape[axis] > 1}
        if covers_map and kind == "layer":
            return _weighted(call, over_map(call, 1, epsilon, np.ones(1), np.zeros(1)), weights)
        return _over_axes(call, view, long, kind, epsilon, weights)
    (axis,) = long
    view = _with_last_axis(call, view, axis)
    attrs: dict[str, Any] = {"kind": kind, "epsilon": epsilon}
    remaining = []  # weights that vary along other axes are applied afterwards
    for name, value, neutral in zip(("gamma", "beta"), weights, (1.0, 0.0)):
        extended = value.reshape((1,) * (len(view.axes) - value.ndim) + value.shape)
        is_along_axis = extended.size in (1, extended.shape[axis])
        attrs[name] = tuple(extended.reshape(-1).tolist()) if is_along_axis else (neutral,)
        remaining.append(np.asarray(neutral) if is_along_axis else value)
    op = "vector_norm" if len(call.nodes.shape(view.node)) == 1 else "channel_norm"
    result = view.at(call.nodes.emit(op, view.node, part="norm", **attrs))
    return _weighted(call, result, remaining)


def _with_last_axis(call: Call, view: View, axis: int) -> View:
    """Return a tensor stored as a vector or a map, with an axis as its last dimension."""
    nodes = call.nodes
    view, dim = placed(nodes, view, axis)
    dims = nodes.shape(view.node)
    if dim == len(dims) - 1 and len(dims) in (1, 3):
        return view
    order = [other for other in default_order(len(view.axes)) if other != axis] + [axis]
    view = relayout.ordered(nodes, view, order)
    dims, length = nodes.shape(view.node), view.shape[axis]
    if len(dims) in (1, 3) and dims[-1] == length:
        return view
    return view.at(nodes.shaped(view.node, (1, view.size // length, length)))


def _weighted(call: Call, view: View, weights: Sequence[Doubles]) -> View:
    for operation, value, neutral in (("multiply", weights[0], 1.0), ("add", weights[1], 0.0)):
        if (value != neutral).any():
            view = binary_operation(call, operation, view, value)
    return view


def in_pieces(call: Call) -> list[View]:
    """Convert a normalisation that ``norm_pieces`` has fused."""
    if call.attribute("norm") == GROUP:
        return [_of_groups(call)]
    view = call.view()
    axes = sorted({call.axis(axis, len(view.axes)) for axis in call.attribute("axes")})
    kind, epsilon = call.attribute("norm"), float(call.attribute("epsilon"))
    spatial = {axis for axis in (2, 3) if len(view.axes) == 4 and view.shape[axis] > 1}
    if kind == "layer" and spatial and {axis for axis in axes if view.shape[axis] > 1} == spatial:
        result = over_map(call, view.shape[1], epsilon, np.ones(1), np.zeros(1))
        return [_weighted(call, result, _weights(call))]
    return [normalized(call, view, axes, kind, epsilon, _weights(call))]


def _of_groups(call: Call) -> View:
    view, groups = call.view(), int(call.attribute("groups"))
    channels, grouped_shape = view.shape[1], call.attribute("shape")
    keeps_spatial = len(grouped_shape) in (0, 4) and all(
        size in (0, -1, own) for size, own in zip(grouped_shape, view.shape)
    )
    if len(view.shape) != 4 or not keeps_spatial or channels % groups:
        raise call.refused(
            f"over {groups} groups of {view.shape}, then {grouped_shape}", "give each group as many channels"
        )
    gamma, beta = (np.repeat(bias_of(call, index, groups).astype(np.float64), channels // groups) for index in (1, 2))
    factors, offsets = (
        call.finite(call.constant(index, "weights"), "weights").reshape(-1) if call.has(index) else np.full(1, neutral)
        for index, neutral in ((3, 1.0), (4, 0.0))
    )
    return over_map(call, groups, float(call.attribute("epsilon")), gamma * factors, beta * factors + offsets)


def _over_axes(
    call: Call, view: View, axes: Sequence[int], kind: str, epsilon: float, weights: Sequence[Doubles]
) -> View:
    if kind != "layer":
        raise call.refused(f"over the axes {tuple(axes)}", "it can be over one axis")
    node = relayout.in_file_order(call.nodes, view, view.shape)
    normalized_node = call.nodes.emit("tensor_norm", node, part="norm", axes=tuple(axes), epsilon=epsilon)
    return _weighted(call, fresh(normalized_node, view.shape), weights)


def _mean_variance(call: Call) -> list[View]:
    axes = call.attribute("axes", (0, 2, 3))
    view = call.view()
    long = {call.axis(axis, len(view.axes)) for axis in axes if view.shape[call.axis(axis, len(view.axes))] > 1}
    if len(view.axes) != 4 or not long <= {2, 3} or any(view.shape[axis] > 1 and axis not in long for axis in (2, 3)):
        raise call.refused(f"over the axes {axes} of {view.shape}", "normalise each channel over rows and columns")
    return [over_map(call, view.shape[1], 1e-9, np.ones(1), np.zeros(1))]


def _neighbours(call: Call) -> list[View]:
    node, _ = call.map()
    size = int(call.attribute("size"))
    attrs: dict[str, Any] = {
        "alpha": float(call.attribute("alpha", 1e-4)) / max(size, 1),
        "beta": float(call.attribute("beta", 0.75)),
    }
    bias = float(call.attribute("bias", 1.0))
    normalized_node = call.nodes.emit(
        "local_response_norm", node, part="norm", size=size, bias=bias, region="across", **attrs
    )
    return [call.mapped(normalized_node, len(call.view().axes))]


CONVERTERS: dict[str, Converter] = {
    "BatchNormalization": _batch,
    "GroupNormalization": for_each_map(_group),
    "InstanceNormalization": for_each_map(_instance),
    "LRN": for_each_map(_neighbours),
    "LayerNormalization": _layer,
    "MeanVarianceNormalization": _mean_variance,
    "RMSNormalization": _layer,
    "SimplifiedLayerNormalization": _layer,
}
