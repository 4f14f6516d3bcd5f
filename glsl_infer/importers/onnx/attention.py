"""Convert ONNX Attention (opset 23 and later) to products, a mask and a softmax."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from glsl_infer.importers.onnx import types
from glsl_infer.importers.onnx.call import FARTHEST, Call, Converter, Operand, broadcast
from glsl_infer.importers.onnx.nodes import MOST_NUMBERS
from glsl_infer.importers.onnx.products import product
from glsl_infer.importers.onnx.reductions import probabilities
from glsl_infer.importers.onnx.slice_concat_pad import as_view, concatenated
from glsl_infer.importers.onnx.view import View

_MASK, _PAST_KEYS, _PAST_VALUES, _KEY_LENGTHS = range(3, 7)  # indices of inputs; the last is nonpad_kv_seqlen


def _attention(call: Call) -> list[View]:
    """Convert an Attention. The outputs are its result, and the keys and values including past ones."""
    if call.has(_KEY_LENGTHS):
        raise call.refused("with nonpad_kv_seqlen, the lengths of a cache", "export the model without a cache")
    if not all(map(call.has, range(3))):
        raise call.refused("without a query, keys and values", "the file is damaged; convert the model anew")
    tensors = [_tensor(call, index) for index in range(3)]
    heads_are_merged = len(tensors[0].shape) == 3
    query, keys, values = (_split_heads(call, view, "kv" if index else "q") for index, view in enumerate(tensors))
    keys, values, past_length = _with_past(call, keys, values)
    batch, heads, rows, width = query.shape
    groups, columns = keys.shape[1], keys.shape[2]
    if heads % groups or values.shape[1:3] != (groups, columns):
        raise call.refused(f"on shapes {query.shape}, {keys.shape} and {values.shape}", "the file is damaged")
    scale = float(call.attribute("scale", 0.0)) or 1.0 / math.sqrt(width)

    def with_shared_axis(view: View) -> View:
        """Return keys or values with an axis for the heads that share them."""
        return View(view.node, view.stored, (*view.axes[:2], (), *view.axes[2:]))

    grouped_heads = (batch, groups, heads // groups)
    key_columns = with_shared_axis(keys.transposed((0, 1, 3, 2)))
    grouped_scores = product(call, call.reshaped(query, (*grouped_heads, rows, width)), key_columns, scale)
    scores = call.reshaped(grouped_scores, (batch, heads, rows, columns))
    weights = _attention_weights(call, _capped(call, scores), past_length)
    sums = product(call, call.reshaped(weights, (*grouped_heads, rows, columns)), with_shared_axis(values))
    result = call.reshaped(sums, (batch, heads, rows, values.shape[3]))
    if heads_are_merged:
        result = call.reshaped(result.transposed((0, 2, 1, 3)), (batch, rows, heads * values.shape[3]))
    return [result, keys, values]


def _with_past(call: Call, keys: View, values: View) -> tuple[View, View, int]:
    """Return keys and values after the past ones, if any, and the number of past keys."""
    if not (call.has(_PAST_KEYS) and call.has(_PAST_VALUES)):
        return keys, values, 0
    past_keys, past_values = _tensor(call, _PAST_KEYS), _tensor(call, _PAST_VALUES)
    keys, values = concatenated(call, [past_keys, keys], 2), concatenated(call, [past_values, values], 2)
    return keys, values, past_keys.shape[2]


def _tensor(call: Call, index: int) -> View:
    value = call.operands[index]
    view = as_view(call, value, call.views[0]) if isinstance(value, np.ndarray) else call.view(index)
    if len(view.shape) not in (3, 4):
        raise call.refused(f"on a tensor of shape {view.shape}", "give it three or four axes")
    return view


def _split_heads(call: Call, view: View, prefix: str) -> View:
    """Return a tensor as (batch, heads, positions, width of a head).

    Args:
        call: the operator.
        view: (batch, heads, positions, width), or (batch, positions, heads * width).
        prefix: of the attribute ``num_heads``: ``q`` or ``kv``.
    """
    if len(view.shape) == 4:
        return view
    batch, positions, width = view.shape
    heads = int(call.attribute(f"{prefix}_num_heads"))
    if heads < 1 or width % heads:
        raise call.refused(f"{heads} heads of {width} values", "the file is damaged; convert the model anew")
    return call.reshaped(view, (batch, positions, heads, width // heads)).transposed((0, 2, 1, 3))


def _capped(call: Call, scores: View) -> View:
    """Return scores limited by a hyperbolic tangent to the attribute ``softcap``."""
    cap, nodes = float(call.attribute("softcap", 0.0)), call.nodes
    if cap <= 0.0:
        return scores
    limited = nodes.function(nodes.scaled(scores.node, 1.0 / cap), "tanh")
    return scores.at(nodes.scaled(limited, cap))


def _attention_weights(call: Call, scores: View, past_length: int) -> View:
    """Return the softmax of scores over the visible keys. A row without visible keys is 0."""
    mask = call.operands[_MASK] if call.has(_MASK) else None
    rows, columns = scores.shape[2:]
    if mask is not None and mask.shape[-1] != columns:
        raise call.refused(f"a mask of shape {mask.shape} for {columns} keys", "give it as many columns as keys")
    constant_mask, computed_mask = _visible_by_position(call, rows, columns, past_length), None
    if mask is not None and call.type(_MASK) != types.BOOL:
        scores = broadcast(call, "tensor_binary", (scores, mask), ("constant",) * 2, "biased", operation="add")
    elif isinstance(mask, View):
        computed_mask = mask
    elif mask is not None:
        constant_mask = constant_mask & mask
    visible: list[Operand] = [] if constant_mask.all() else [constant_mask.astype(np.float64)]
    if computed_mask is not None:
        visible.insert(0, computed_mask)
    for condition in visible:
        scores = _where(call, condition, scores, -FARTHEST)
    weights = probabilities(call, scores, 3)
    rows_can_be_empty = computed_mask is not None or not constant_mask.any(axis=-1).all()
    if rows_can_be_empty:
        for condition in visible:
            weights = _where(call, condition, weights, 0.0)
    return weights


def _where(call: Call, condition: Operand, yes: View, no: float) -> View:
    return broadcast(call, "select", (condition, yes, np.asarray(no)), ("condition", "yes", "no"))


def _visible_by_position(call: Call, rows: int, columns: int, past_length: int) -> NDArray[np.bool_]:
    """Return a mask of the keys visible to each query by position. ``past_length`` keys precede the first query."""
    if rows * columns > MOST_NUMBERS:
        raise call.refused(f"{rows} queries and {columns} keys", f"at most {MOST_NUMBERS} pairs are possible")
    ahead = np.arange(columns) - np.arange(rows)[:, None] - past_length
    visible: NDArray[np.bool_] = np.ones_like(ahead, bool)
    if call.attribute("is_causal", 0):
        visible &= ahead <= 0
    left, right = (int(call.attribute(f"{side}_window_size", -1)) for side in ("left", "right"))
    if left >= 0:
        visible &= -ahead <= left
    if right >= 0:
        visible &= ahead <= right
    return visible


CONVERTERS: dict[str, Converter] = {"Attention": _attention}
