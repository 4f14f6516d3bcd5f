"""Constant folding of layers in NumPy, such as projected positions and normalised weights."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from glsl_infer.importers.onnx.folded_moves import room
from glsl_infer.importers.onnx.model import Operator

if TYPE_CHECKING:
    from glsl_infer.importers.onnx.folding import Folded


def _batch_normalization(given: Sequence[Any], operator: Operator, most: int) -> Any:
    """Normalise axis 1, the channels; in training mode by the batch's own statistics (ONNX, BatchNormalization 15)."""
    x: Any
    x, scale, bias, mean, variance = (np.asarray(each) for each in given[:5])
    others = tuple(axis for axis in range(x.ndim) if axis != 1)
    if operator.attributes.get("training_mode", 0):
        mean, variance = x.mean(axis=others), x.var(axis=others)
    scale, bias, mean, variance = (np.expand_dims(each, others) for each in (scale, bias, mean, variance))
    epsilon = operator.attributes.get("epsilon", 1e-5)
    return ((x - mean) / np.sqrt(variance + epsilon) * scale + bias).astype(x.dtype)


def _convolution(given: Sequence[Any], operator: Operator, most: int) -> Any:
    """Convolve (batch, channels, ...) with (filters, channels of a group, ...), one tap at a time."""
    x: Any = np.asarray(given[0])
    kernel: Any = np.asarray(given[1])
    axes = x.ndim - 2
    strides = operator.attributes.get("strides", [1] * axes)
    dilations = operator.attributes.get("dilations", [1] * axes)
    groups = operator.attributes.get("group", 1)
    reach = [dilation * (size - 1) + 1 for dilation, size in zip(dilations, kernel.shape[2:])]
    pads = _pads(operator, x.shape[2:], reach, strides)
    room((*x.shape[:2], *(size + sum(pad) for size, pad in zip(x.shape[2:], pads))), x.dtype.itemsize, most)
    x = np.pad(x, [(0, 0), (0, 0), *pads])
    sizes = [(size - one) // stride + 1 for size, one, stride in zip(x.shape[2:], reach, strides)]
    filters = kernel.shape[0] // groups
    room((x.shape[0], kernel.shape[0], *sizes), x.dtype.itemsize, most)
    made = np.zeros((x.shape[0], groups, filters, math.prod(sizes)), np.float64)
    whole = (slice(None), slice(None))
    for tap in itertools.product(*map(range, kernel.shape[2:])):
        places = tuple(
            slice(at * dilation, at * dilation + (size - 1) * stride + 1, stride)
            for at, dilation, size, stride in zip(tap, dilations, sizes, strides)
        )
        seen = x[whole + places].reshape(x.shape[0], groups, kernel.shape[1], -1)
        made += kernel[whole + tap].reshape(groups, filters, -1) @ seen
    made = made.reshape(x.shape[0], kernel.shape[0], *sizes)
    if len(given) > 2 and given[2] is not None:
        made += np.asarray(given[2]).reshape(-1, *[1] * axes)
    return made.astype(x.dtype)


def _pads(
    operator: Operator, sizes: Sequence[int], reach: Sequence[int], strides: Sequence[int]
) -> list[tuple[int, int]]:
    auto = operator.attributes.get("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [max((-(-size // s) - 1) * s + one - size, 0) for size, one, s in zip(sizes, reach, strides)]
        halves = [(each // 2, each - each // 2) for each in wanted]
        return halves if auto == "SAME_UPPER" else [(after, before) for before, after in halves]
    pads = operator.attributes.get("pads", [0] * (2 * len(sizes)))
    return list(zip(pads[: len(sizes)], pads[len(sizes) :]))


LAYERS: Mapping[str, Folded] = {"BatchNormalization": _batch_normalization, "Conv": _convolution}
"""Folding functions by the operator's type."""
