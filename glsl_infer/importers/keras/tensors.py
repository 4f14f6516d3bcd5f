"""Converters of Keras layers and operations on tensors of any rank: nodes for the CPU.

They are used if an input or output is neither a vector nor a map, or if a layer does not have a shader.
"""

from __future__ import annotations

from collections.abc import Mapping

from glsl_infer.graph import Node
from glsl_infer.importers.core import emit
from glsl_infer.importers.keras import (
    elementwise,
    geometry,
    normalizations,
    reductions,
    resizes,
    sequences,
    tensor_places,
)
from glsl_infer.importers.keras.attention import attention, multi_head_attention
from glsl_infer.importers.keras.call import Call, Converter, array
from glsl_infer.importers.keras.converters import of_same_values
from glsl_infer.importers.keras.products import by_matrix, by_matrix_or, dot, einsum, einsum_dense, matmul
from glsl_infer.importers.keras.reductions import norm, reduction


def _layer_norm(call: Call) -> list[Node]:
    """Convert a LayerNormalization; its weights get axes of length 1 to broadcast along the others."""
    layer, axes = call.layer, call.axes(call.layer.axis)
    shape = tuple(size if axis in axes else 1 for axis, size in enumerate(call.shapes[0]))
    weights = {
        name: array(value).reshape(shape)
        for name, value in (("gamma", layer.gamma), ("beta", layer.beta))
        if value is not None
    }
    return [call.node("tensor_norm", {"axes": axes, "epsilon": float(layer.epsilon)}, **weights)]


def _top_k(call: Call) -> list[Node]:
    """Convert one output of a TopK: the largest values along the last axis, or their indices."""
    result = "values" if call.output == 0 else "indices"
    return [call.node("top_k", {"k": int(call.layer.k), "result": result})]


def _one_hot(call: Call) -> list[Node]:
    shape = call.shapes[0]
    axis = int(call.layer.axis) % (len(shape) + 2) - 1
    if axis < 0:
        raise call.refused("a batch of classes", "give another axis than the first")
    return emit.one_hot(call.name, call.inputs[0], shape, int(call.layer.num_classes), axis, 0.0, 1.0)


def _sorted(call: Call) -> list[Node]:
    """Convert a Sort or an Argsort."""
    result = {"result": "indices"} if type(call.layer).__name__ == "Argsort" else {}
    return [call.node("sort", {"axis": call.axis(call.layer.axis), **result})]


def _cumulative_sum(call: Call) -> list[Node]:
    return [call.node("cumulative_sum", {"axis": call.axis(call.layer.axis)})]


LAYERS: Mapping[str, Converter] = {
    "Attention": attention,
    "Dot": dot,
    "EinsumDense": einsum_dense,
    "GlobalAveragePooling1D": reduction("mean", lambda layer: 1),
    "GlobalMaxPooling1D": reduction("max", lambda layer: 1),
    "LayerNormalization": _layer_norm,
    "MultiHeadAttention": multi_head_attention,
    **tensor_places.LAYERS,
    **sequences.LAYERS,
    **normalizations.LAYERS_ON_CPU,
}
"""Converters of layers by class name."""

OPERATIONS: Mapping[str, Converter] = {
    "AffineTransform": resizes.affine,
    "Argsort": _sorted,
    "Cumsum": _cumulative_sum,
    "CropImages": geometry.crop_images,
    "Dot": by_matrix,
    "Einsum": by_matrix_or(einsum),
    "ExpandDims": of_same_values,
    "Matmul": by_matrix_or(matmul),
    "Norm": norm,
    "OneHot": _one_hot,
    "PadImages": geometry.pad_images,
    "Tensordot": by_matrix,
    "Sort": _sorted,
    "Squeeze": of_same_values,
    "TopK": _top_k,
    **tensor_places.ON_CPU,
    **elementwise.ON_CPU,
    **reductions.ON_CPU,
    **tensor_places.OPERATIONS,
    **normalizations.ON_CPU,
}
"""Converters of operations by class name."""
