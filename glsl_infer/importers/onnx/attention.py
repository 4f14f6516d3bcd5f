"""Attention, one operator since opset 23, as products, a mask and a softmax."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from glsl_infer.importers.onnx import types
from glsl_infer.importers.onnx.call import FARTHEST, Call, Converter, Operand, broadcast
from glsl_infer.importers.onnx.parts import as_view, concatenated
from glsl_infer.importers.onnx.products import product
from glsl_infer.importers.onnx.reductions import probabilities
from glsl_infer.importers.onnx.view import View

_MASK, _PAST, _FILLED = 3, (4, 5), 6


def _attention(call: Call) -> list[View]:
    """Convert an Attention. The outputs are its result, and all keys and values."""
    if call.has(_FILLED):
        raise call.refused("with the length of a cache", "export the model without a cache")
    if not all(map(call.has, range(3))):
        raise call.refused("without a query, keys and values", "the file is damaged; convert the model anew")
    tensors = [_tensor(call, index) for index in range(3)]
    flat = len(tensors[0].shape) == 3
    query, keys, values = (_heads(call, view, "kv" if index else "q") for index, view in enumerate(tensors))
    before = 0
    if call.has(_PAST[0]) and call.has(_PAST[1]):
        past = [_tensor(call, index) for index in _PAST]
        before = past[0].shape[2]
        keys, values = (concatenated(call, list(pair), 2) for pair in zip(past, (keys, values)))
    batch, heads, rows, width = query.shape
    groups, columns = keys.shape[1], keys.shape[2]
    if heads % groups or values.shape[1:3] != (groups, columns):
        raise call.refused(f"on shapes {query.shape}, {keys.shape} and {values.shape}", "the file is damaged")
    scale = float(call.attribute("scale", 0.0)) or 1.0 / math.sqrt(width)

    def shared(view: View) -> View:
        """Return keys or values with an axis for the heads that share them."""
        return View(view.node, view.stored, (*view.axes[:2], (), *view.axes[2:]))

    batch_of_heads = (batch, groups, heads // groups)
    key_columns = shared(keys.transposed((0, 1, 3, 2)))
    scores = call.reshaped(product(call, call.reshaped(query, (*batch_of_heads, rows, width)), key_columns, scale),
                      (batch, heads, rows, columns))  # fmt: skip
    shares = _shares(call, _capped(call, scores), before)
    mixed = product(call, call.reshaped(shares, (*batch_of_heads, rows, columns)), shared(values))
    result = call.reshaped(mixed, (batch, heads, rows, values.shape[3]))
    if flat:
        result = call.reshaped(result.transposed((0, 2, 1, 3)), (batch, rows, heads * values.shape[3]))
    return [result, keys, values]


def _tensor(call: Call, index: int) -> View:
    value = call.operands[index]
    view = as_view(call, value, call.views[0]) if isinstance(value, np.ndarray) else call.view(index)
    if len(view.shape) not in (3, 4):
        raise call.refused(f"on a tensor of shape {view.shape}", "give it three or four axes")
    return view


def _heads(call: Call, view: View, whose: str) -> View:
    """Return a tensor as (batch, heads, positions, width of a head)."""
    if len(view.shape) == 4:
        return view
    batch, positions, numbers = view.shape
    heads = int(call.attribute(f"{whose}_num_heads"))
    if heads < 1 or numbers % heads:
        raise call.refused(f"{heads} heads of {numbers} numbers", "the file is damaged; convert the model anew")
    return call.reshaped(view, (batch, positions, heads, numbers // heads)).transposed((0, 2, 1, 3))


def _capped(call: Call, scores: View) -> View:
    """Return scores limited by a hyperbolic tangent to the attribute ``softcap``."""
    cap, nodes = float(call.attribute("softcap", 0.0)), call.nodes
    if cap <= 0.0:
        return scores
    bent = nodes.function(nodes.scaled(scores.node, 1.0 / cap), "tanh")
    return scores.at(nodes.scaled(bent, cap))


def _shares(call: Call, scores: View, before: int) -> View:
    """Return the softmax of scores over the visible keys. A row without visible keys is 0."""
    mask = call.operands[_MASK] if call.has(_MASK) else None
    rows, columns = scores.shape[2:]
    if mask is not None and mask.shape[-1] != columns:
        raise call.refused(f"a mask of shape {mask.shape} for {columns} keys", "give it as many columns as keys")
    constant, computed = _window(call, rows, columns, before), []
    if mask is not None and call.type(_MASK) != types.BOOL:
        scores = broadcast(call, "tensor_binary", (scores, mask), ("constant",) * 2, "biased", operation="add")
    elif isinstance(mask, View):
        computed.append(mask)
    elif mask is not None:
        constant = constant & mask
    seen: list[Operand] = [*computed, *([] if constant.all() else [constant.astype(np.float64)])]
    for each in seen:
        scores = _where(call, each, scores, -FARTHEST)
    shares = probabilities(call, scores, 3)
    for each in seen if computed or not constant.any(axis=-1).all() else []:
        shares = _where(call, each, shares, 0.0)
    return shares


def _where(call: Call, condition: Operand, yes: View, no: float) -> View:
    return broadcast(call, "select", (condition, yes, np.asarray(no)), ("condition", "yes", "no"))


def _window(call: Call, rows: int, columns: int, before: int) -> NDArray[np.bool_]:
    """Return a mask of the keys visible to each query by position. ``before`` keys precede the first query."""
    ahead = np.arange(columns) - np.arange(rows)[:, None] - before
    seen: NDArray[np.bool_] = np.ones_like(ahead, bool)
    if call.attribute("is_causal", 0):
        seen &= ahead <= 0
    left, right = (int(call.attribute(f"{side}_window_size", -1)) for side in ("left", "right"))
    if left >= 0:
        seen &= -ahead <= left
    if right >= 0:
        seen &= ahead <= right
    return seen


CONVERTERS: dict[str, Converter] = {"Attention": _attention}
