"""CPU operators that rearrange, pad, reduce or normalise tensors of any rank."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from glsl_infer.cpu.kernel import Attrs, Kernel, Weights, axis_of
from glsl_infer.graph.node import Array, Shape

REDUCTIONS: Mapping[str, Callable[..., Array]] = {
    "mean": np.mean,
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "product": np.prod,
}


def _axes(attrs: Attrs, rank: int) -> tuple[int, ...]:
    """Return the attribute ``axes`` with indices from 0 on, in order.

    Raises:
        ValueError: an axis does not exist, or occurs twice.
    """
    axes = tuple(axis_of(axis, rank) for axis in attrs["axes"])
    if len(set(axes)) != len(axes):
        raise ValueError(f"axes {tuple(attrs['axes'])} of a tensor with {rank} axes; name each once")
    return axes


def _reshape_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    shape = tuple(attrs["shape"])
    if math.prod(shape) != math.prod(shapes[0]):
        raise ValueError(f"a reshape of {shapes[0]} to {shape}; give as many numbers")
    return shape


def _transpose_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    axes = _axes(attrs, len(shapes[0]))
    if len(axes) != len(shapes[0]):
        raise ValueError(f"axes {axes} of a tensor of shape {shapes[0]}; name each once")
    return tuple(shapes[0][axis] for axis in axes)


def _concat_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    axis = axis_of(attrs["axis"], len(shapes[0]))
    cross_sections = {(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
    if len(cross_sections) != 1 or len({len(shape) for shape in shapes}) != 1:
        raise ValueError(f"shapes {', '.join(map(str, shapes))} along axis {axis}; they may differ on that axis only")
    concatenated = list(shapes[0])
    concatenated[axis] = sum(shape[axis] for shape in shapes)
    return tuple(concatenated)


def _slices(attrs: Attrs, shape: Shape) -> tuple[slice, ...]:
    begin, size = tuple(attrs["begin"]), tuple(attrs["size"])
    steps = tuple(attrs["strides"]) or (1,) * len(shape)
    lines = [range(first, first + count * step, step or 1) for first, count, step in zip(begin, size, steps)]
    fits = len(begin) == len(size) == len(steps) == len(shape) and all(steps)
    if not fits or not all(_is_inside(line, length) for line, length in zip(lines, shape)):
        raise ValueError(f"a slice of {size} from {begin} on of a tensor of shape {shape}; stay inside it")
    return tuple(slice(line.start, line.stop if line.stop >= 0 else None, line.step) for line in lines)


def _is_inside(line: range, length: int) -> bool:
    """Return whether all indices of a line exist. Only its ends are checked, because a file can request any length."""
    return bool(line) and min(line[0], line[-1]) >= 0 and max(line[0], line[-1]) < length


def _slice_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    _slices(attrs, shapes[0])
    return tuple(attrs["size"])


def _reduction_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    axes = _axes(attrs, len(shapes[0]))
    if attrs["reduction"] not in REDUCTIONS:
        raise ValueError(f"reduction '{attrs['reduction']}'; there are: {', '.join(REDUCTIONS)}")
    if attrs["keep"]:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shapes[0]))
    return tuple(size for axis, size in enumerate(shapes[0]) if axis not in axes)


def _reduced(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    axes = _axes(attrs, inputs[0].ndim)
    return REDUCTIONS[attrs["reduction"]](inputs[0], axis=axes, keepdims=bool(attrs["keep"]))


def _norm_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    _axes(attrs, len(shapes[0]))
    for name, shape in weights.items():
        if np.broadcast_shapes(shape, shapes[0]) != shapes[0]:
            raise ValueError(f"a {name} of shape {shape} on a tensor of shape {shapes[0]}")
    return shapes[0]


def _norm(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    x, axes = inputs[0], _axes(attrs, inputs[0].ndim)
    centred = x - x.mean(axis=axes, keepdims=True)
    variance = np.square(centred).mean(axis=axes, keepdims=True)
    result: Array = centred / np.sqrt(variance + x.dtype.type(attrs["epsilon"]))
    if "gamma" in weights:
        result = result * weights["gamma"].astype(x.dtype)
    return result + weights["beta"].astype(x.dtype) if "beta" in weights else result


_PADDING_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def _padding_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    widths = tuple(attrs["padding"])
    if len(widths) != 2 * len(shapes[0]) or min(widths, default=0) < 0 or attrs["mode"] not in _PADDING_MODES:
        raise ValueError(
            f"padding by {widths} with mode '{attrs['mode']}' of a tensor of shape {shapes[0]}; give (before, after) "
            f"for each axis, and one of: {', '.join(_PADDING_MODES)}"
        )
    return tuple(size + widths[2 * axis] + widths[2 * axis + 1] for axis, size in enumerate(shapes[0]))


def _padded(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    widths = np.asarray(attrs["padding"], np.int64).reshape(-1, 2)
    more = {"constant_values": attrs["value"]} if attrs["mode"] == "constant" else {}
    return np.pad(inputs[0], widths, mode=attrs["mode"], **more)


KERNELS: Mapping[str, Kernel] = {
    "tensor_reshape": Kernel(
        "The same values in another shape.",
        (1, 1),
        _reshape_shape,
        lambda attrs, weights, inputs: inputs[0].reshape(tuple(attrs["shape"])),
        {"shape": None},
        range="kept",
    ),
    "tensor_transpose": Kernel(
        "Transposition of axes.",
        (1, 1),
        _transpose_shape,
        lambda attrs, weights, inputs: inputs[0].transpose(_axes(attrs, inputs[0].ndim)),
        {"axes": None},
        range="kept",
    ),
    "tensor_concat": Kernel(
        "Concatenation along an axis.",
        (2, 64),
        _concat_shape,
        lambda attrs, weights, inputs: np.concatenate(inputs, axis=axis_of(attrs["axis"], inputs[0].ndim)),
        {"axis": -1},
    ),
    "tensor_slice": Kernel(
        "A block of a tensor, with strides of either sign.",
        (1, 1),
        _slice_shape,
        lambda attrs, weights, inputs: inputs[0][_slices(attrs, inputs[0].shape)],
        {"begin": None, "size": None, "strides": ()},
        implied=("strides",),
        range="kept",
    ),
    "tensor_pad": Kernel(
        "Padding at the ends of any axis.",
        (1, 1),
        _padding_shape,
        _padded,
        {"padding": None, "mode": "constant", "value": 0.0},
    ),
    "tensor_reduce": Kernel(
        "Mean, sum, maximum, minimum or product along axes.",
        (1, 1),
        _reduction_shape,
        _reduced,
        {"reduction": None, "axes": None, "keep": False},
    ),
    "tensor_norm": Kernel(
        "Normalisation to a mean of 0 and a deviation of 1 along axes; then times gamma, plus beta.",
        (1, 1),
        _norm_shape,
        _norm,
        {"axes": (-1,), "epsilon": 1e-3},
        ("gamma", "beta"),
    ),
}
"""The kernels by operator name."""
