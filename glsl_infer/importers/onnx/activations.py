"""Converters of activation functions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from glsl_infer.graph.activations import bent, powers, shrinking, smooth
from glsl_infer.importers.core import elementwise
from glsl_infer.importers.core.constants import shortest
from glsl_infer.importers.onnx import relayout
from glsl_infer.importers.onnx.call import Call, Converter
from glsl_infer.importers.onnx.view import View, default_order

_NO_LIMIT = 1e30
"""Limits of a Clip beyond this value are ignored."""

_NAMED = elementwise.activations(elementwise.ONNX)


def applied(call: Call, text: str, index: int = 0) -> list[View]:
    """Return an activation, given as text, of the input at ``index``."""
    view = call.view(index)
    return [view.at(call.nodes.function(view.node, text))]


def _named(call: Call) -> list[View]:
    return applied(call, _NAMED[call.kind])


def _of(make: Callable[[Call], str]) -> Converter:
    return lambda call: applied(call, make(call))


def _elu(call: Call) -> str:
    return smooth.elu(shortest(call.attribute("alpha", 1.0))).text


def _celu(call: Call) -> str:
    return shrinking.celu(shortest(call.attribute("alpha", 1.0))).text


def _gelu(call: Call) -> str:
    return "gelu_tanh" if call.attribute("approximate", "none") == "tanh" else "gelu"


def _leaky(call: Call) -> str:
    return bent.leaky_relu(shortest(call.attribute("alpha", 0.01))).text


def _thresholded(call: Call) -> str:
    return shrinking.threshold(shortest(call.attribute("alpha", 1.0)), 0.0).text


def _selu(call: Call) -> list[View]:
    alpha, gamma = (
        shortest(call.attribute("alpha", smooth.SELU_ALPHA)),
        float(call.attribute("gamma", smooth.SELU_SCALE)),
    )
    if math.isclose(alpha, smooth.SELU_ALPHA, rel_tol=1e-6) and math.isclose(gamma, smooth.SELU_SCALE, rel_tol=1e-6):
        return applied(call, "selu")
    (view,) = applied(call, smooth.elu(alpha).text)
    return [view.at(call.nodes.scaled(view.node, gamma))]


def _hard_sigmoid(call: Call) -> list[View]:
    alpha, beta = shortest(call.attribute("alpha", 0.2)), shortest(call.attribute("beta", 0.5))
    if math.isclose(alpha, 1.0 / 6.0, rel_tol=1e-5) and beta == 0.5:
        return applied(call, "hard_sigmoid")
    return applied(call, f"piecewise_linear({alpha:.9g},{beta:.9g})")


def _shrink(call: Call) -> str:
    limit, bias = shortest(call.attribute("lambd", 0.5)), shortest(call.attribute("bias", 0.0))
    if bias not in (0.0, limit):
        raise call.refused(f"a bias of {bias:g} with a limit of {limit:g}", "give a bias of 0, or of the limit")
    return (shrinking.soft_shrink if bias else shrinking.hard_shrink)(limit).text


def _swish(call: Call) -> list[View]:
    alpha = shortest(call.attribute("alpha", 1.0))
    if alpha == 1.0:
        return applied(call, "silu")
    view = call.view()
    inner = call.nodes.scaled(view.node, alpha)  # alpha * x * sigmoid(alpha * x), divided by alpha
    return [view.at(call.nodes.scaled(call.nodes.function(inner, "silu"), 1.0 / alpha))]


def _clip(call: Call) -> list[View]:
    if len(call.views) > 1:
        return [_computed_limits(call)]
    low = call.number(1, "a lower limit", "min", -math.inf)
    high = call.number(2, "an upper limit", "max", math.inf)
    low, high = (-math.inf if low < -_NO_LIMIT else low), (math.inf if high > _NO_LIMIT else high)
    if low >= high:
        if math.isfinite(high):  # ONNX: values below the upper limit become this limit
            return [call.view().at(call.nodes.scaled(call.view().node, 0.0, high))]
        raise call.refused(f"limits of {low:g} and {high:g}", "let the lower one be less")
    if low == -math.inf and high == math.inf:
        return applied(call, "linear")
    if low == 0.0:
        return applied(call, "relu" if high == math.inf else f"relu({high:.9g})")
    if high == math.inf:
        return applied(call, powers.at_least(low).text)
    return applied(call, (powers.at_most(high) if low == -math.inf else powers.clip(low, high)).text)


def _computed_limits(call: Call) -> View:
    """Return a Clip with computed limits."""
    from glsl_infer.importers.onnx.arithmetic import binary_operation

    view = call.view()
    for index, operation in ((1, "maximum"), (2, "minimum")):
        limit = call.operands[index] if call.has(index) else None
        none = isinstance(limit, np.ndarray) and (np.abs(limit.astype(np.float64)) > _NO_LIMIT).all()
        if limit is not None and not none:
            view = binary_operation(call, operation, view, limit)
    return view


def _prelu(call: Call) -> list[View]:
    view, slopes = call.view(), call.finite(call.constant(1, "slopes"), "slopes")
    if slopes.size == 1:
        return applied(call, bent.leaky_relu(float(slopes.reshape(-1)[0])).text)
    rank = len(view.axes)
    if slopes.ndim == 1 < rank and slopes.size == view.shape[1] and slopes.size != view.shape[-1]:
        slopes = slopes.reshape(-1, *[1] * (rank - 2))  # one per channel, as in files before opset 7
    wide = slopes.reshape((1,) * (rank - slopes.ndim) + slopes.shape) if slopes.ndim <= rank else slopes
    long = [axis for axis, size in enumerate(wide.shape) if size > 1]
    if len(long) != 1 or wide.ndim != rank or wide.shape[long[0]] != view.shape[long[0]]:
        return _prelu_in_pieces(call, wide)
    order = view.order()
    if order is None or not order or order[-1] != long[0]:
        last = [axis for axis in default_order(rank) if axis != long[0]] + long
        view = relayout.ordered(call.nodes, view, last)
    count = wide.size
    shape = call.nodes.shape(view.node)
    node = view.node if shape[-1] == count else call.nodes.shaped(view.node, (1, view.size // count, count))
    text = bent.prelu(*(float(slope) for slope in wide.reshape(-1))).text
    return [view.at(call.nodes.function(node, text))]


def _prelu_in_pieces(call: Call, slopes: np.ndarray) -> list[View]:
    """Return ``relu(x) - slopes * relu(-x)``, for a slope per pixel."""
    view, nodes = call.view(), call.nodes
    if np.broadcast_shapes(slopes.shape, view.shape) != view.shape:
        raise call.refused(f"slopes of shape {slopes.shape} on {view.shape}", "give one slope for each channel")
    cut = view.split_at(nodes.shape(view.node))
    node, fine = (view.node, cut[0]) if cut else (nodes.shaped(view.node, tuple(a.size for a in view.stored)), view)
    upper = nodes.function(node, "relu")
    lower = nodes.function(call.nodes.scaled(node, -1.0), "relu")
    stored_slopes = np.broadcast_to(fine.as_stored(slopes), [atom.size for atom in fine.stored]).reshape(
        nodes.shape(node)
    )
    product = nodes.constant("multiply", lower, -stored_slopes)
    result = nodes.emit("tensor_binary", upper, product, part="sum", operation="add")
    return [fine.at(result)]


CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(_NAMED, _named),
    "Celu": _of(_celu),
    "Clip": _clip,
    "Elu": _of(_elu),
    "Gelu": _of(_gelu),
    "HardSigmoid": _hard_sigmoid,
    "LeakyRelu": _of(_leaky),
    "PRelu": _prelu,
    "Selu": _selu,
    "Shrink": _of(_shrink),
    "Swish": _swish,
    "ThresholdedRelu": _of(_thresholded),
}
