"""Calls of TensorFlow functions in a Keras 2 model (``TFOpLambda``), computed by ``keras.ops``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
from keras import ops

CLASS = "TensorFlowCall"
NAME = f"glsl_infer>{CLASS}"
"""Registered name of the class in Keras."""

_MODULES = frozenset({"", "math", "nn", "linalg", "image", "__operators__", "keras.activations", "keras.backend"})
_COMPAT = ("compat.v1.", "compat.v2.")


@keras.saving.register_keras_serializable(package="glsl_infer")
class TensorFlowCall(keras.layers.Layer):  # type: ignore[misc]
    """A layer that applies a function of ``tf`` while a model is built, as operations of Keras.

    Args:
        function: name of the function in ``tf``, such as ``math.truediv``.
        options: arguments of all calls.
    """

    def __init__(self, function: str, options: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.function, self.options = function, dict(options or {})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result of the function. The options have the names in ``tf``."""
        kwargs.pop("name", None)
        result = _FUNCTIONS[_short(self.function)](*args, **{**kwargs, **self.options})
        outputs = list(result) if isinstance(result, (list, tuple)) and any(map(_is_tensor, result)) else [result]
        input_ids = {id(value) for value in keras.tree.flatten((args, kwargs))}
        if len(outputs) == 1 and _is_tensor(result) and id(result) not in input_ids:
            result._keras_history.operation.name = self.name
        # Keras finds the input tensors of later calls in this list.
        self._inbound_nodes.append(SimpleNamespace(output_tensors=outputs))
        return result


def is_known(function: str) -> bool:
    """Return whether a function of ``tf`` has a counterpart."""
    return _short(function) in _FUNCTIONS


def _short(function: str) -> str:
    for prefix in _COMPAT:
        function = function.removeprefix(prefix)
    module, _, name = function.rpartition(".")
    return name if module in _MODULES else function


def _is_tensor(value: Any) -> bool:
    return isinstance(value, keras.KerasTensor)


def _first_of_two(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def apply(x: Any, y: Any) -> Any:
        result = operation(_constant(x), _constant(y))
        of_sizes = all(isinstance(value, (int, float, list)) for value in (x, y))
        return np.asarray(result).tolist() if of_sizes else result

    return apply


def _constant(value: Any) -> Any:
    return np.asarray(value, np.float32) if isinstance(value, list) else value


def _of_one(operation: Callable[[Any], Any]) -> Callable[..., Any]:
    def apply(x: Any = None, **named: Any) -> Any:
        return operation(next(iter(named.values())) if x is None else x)

    return apply


def _reduction(operation: Callable[..., Any]) -> Callable[..., Any]:
    def apply(input_tensor: Any, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
        return operation(input_tensor, axis=_axes(axis), keepdims=bool(keepdims))

    return apply


def _axes(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _reshape(tensor: Any, shape: Any) -> Any:
    """Reshape. If the target has the batch, whose size is open, and a -1, the latter is computed."""
    sizes = [-1 if size is None else int(size) for size in shape]
    if sizes[0] == -1 and -1 in sizes[1:]:
        fixed_size = math.prod(size for size in sizes[1:] if size != -1)
        sizes[sizes.index(-1, 1)] = math.prod(tensor.shape[1:]) // max(fixed_size, 1)
    return ops.reshape(tensor, tuple(sizes))


def _of_one_image(sizes: Any) -> tuple[int, ...]:
    """Return sizes with a batch of 1, whose size is open, for a constant that is repeated for each image."""
    return tuple(1 if size is None else int(size) for size in sizes)


def _concat(values: Any, axis: int) -> Any:
    if any(map(_is_tensor, values)):
        return ops.concatenate([_constant(value) for value in values], axis)
    return [size for part in values for size in part]  # parts of a shape


def _getitem(value: Any, slice_spec: Any) -> Any:
    entries = slice_spec if isinstance(slice_spec, (list, tuple)) else [slice_spec]
    key = tuple(_slice(item) for item in entries)
    if _is_tensor(value):
        return value[key]
    picked = np.asarray(value, object)[key]  # value is a shape, whose batch is None
    return picked.tolist() if isinstance(picked, np.ndarray) else picked


def _slice(item: Any) -> Any:
    if isinstance(item, dict) and item.get("class_name") == "__ellipsis__":
        return Ellipsis
    if isinstance(item, dict):
        return slice(item.get("start"), item.get("stop"), item.get("step"))
    return item


def _pad(tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0) -> Any:
    mode = mode.lower()
    return ops.pad(tensor, paddings, mode, constant_values) if mode == "constant" else ops.pad(tensor, paddings, mode)


def _split(value: Any, num_or_size_splits: Any, axis: int = 0, num: Any = None) -> Any:
    if isinstance(num_or_size_splits, int):
        return ops.split(value, num_or_size_splits, axis)
    return ops.split(value, np.cumsum(num_or_size_splits)[:-1].tolist(), axis)


def _resize(
    images: Any,
    size: Any,
    method: str = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    align_corners: bool = False,
    half_pixel_centers: bool = True,
) -> Any:
    size = tuple(map(int, size))
    whole_steps = all(new % old == 0 for new, old in zip(size, images.shape[1:3]) if old)
    same = half_pixel_centers or (method == "nearest" and whole_steps)
    if preserve_aspect_ratio or align_corners or not same:
        raise ValueError("a resize that keeps the shape of images, aligns corners, or starts at the corners of pixels")
    return ops.image.resize(images, size, interpolation=method, antialias=antialias)


def _resize_v1(method: str) -> Callable[..., Any]:
    def apply(images: Any, size: Any, half_pixel_centers: bool = False, **options: Any) -> Any:
        return _resize(images, size, method, half_pixel_centers=half_pixel_centers, **options)

    return apply


def _matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, **_: Any) -> Any:
    def matrix(value: Any, turn: bool) -> Any:
        return ops.swapaxes(value, -1, -2) if turn else value

    return ops.matmul(matrix(_constant(a), transpose_a), matrix(_constant(b), transpose_b))


def _l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, **_: Any) -> Any:
    square = ops.sum(ops.square(x), axis=_axes(axis), keepdims=True)
    return x / ops.sqrt(ops.maximum(square, epsilon))


def _batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any = None, scale: Any = None, variance_epsilon: float = 0.0
) -> Any:
    factor = (1.0 if scale is None else np.asarray(scale)) / np.sqrt(np.asarray(variance) + variance_epsilon)
    return (x - np.asarray(mean, np.float32)) * np.asarray(factor, np.float32) + np.asarray(
        0.0 if offset is None else offset, np.float32
    )


def _pool(operation: Callable[..., Any]) -> Callable[..., Any]:
    def apply(input: Any, ksize: Any, strides: Any = None, padding: str = "VALID", **_: Any) -> Any:
        return operation(input, _window(ksize), _window(strides or ksize), padding.lower())

    return apply


def _window(value: Any) -> Any:
    """Return (y, x) of a window in ``tf``: one number, two, or one for each axis."""
    if not isinstance(value, Sequence):
        return (int(value), int(value))
    sides = list(value)[1:3] if len(value) == 4 else list(value)
    return (int(sides[0]), int(sides[-1]))


def _convolution(operation: Callable[..., Any]) -> Callable[..., Any]:
    def apply(
        input: Any,
        filters: Any = None,
        strides: Any = 1,
        padding: Any = "VALID",
        dilations: Any = None,
        filter: Any = None,
        rate: Any = None,
        **_: Any,
    ) -> Any:
        if not isinstance(padding, str):
            raise ValueError("a convolution with padding in pixels")
        kernel = _constant(filters if filter is None else filter)
        spread = _window(dilations or rate or 1)
        return operation(input, kernel, _window(strides), padding.lower(), dilation_rate=spread)

    return apply


def _transposed(input: Any, filters: Any, output_shape: Any, strides: Any, padding: str = "SAME", **_: Any) -> Any:
    result = ops.conv_transpose(input, _constant(filters), _window(strides), padding.lower())
    if tuple(output_shape)[1:] != tuple(result.shape[1:]):
        raise ValueError(f"a transposed convolution to {tuple(output_shape)[1:]}")
    return result


def _where(condition: Any, x: Any = None, y: Any = None, **_: Any) -> Any:
    return ops.where(condition, _constant(x), _constant(y))


def _top_k(input: Any, k: int = 1, sorted: bool = True, **_: Any) -> Any:
    return ops.top_k(input, int(k), bool(sorted))


def _norm(tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: Any = False, **_: Any) -> Any:
    return ops.norm(tensor, None if ord == "euclidean" else ord, _axes(axis), bool(keepdims))


def _part(input_: Any, begin: Any, size: Any, **_: Any) -> Any:
    ends = [None if length == -1 else first + length for first, length in zip(begin, size)]
    return input_[(slice(None), *map(slice, begin[1:], ends[1:]))]


def _standardized(image: Any) -> Any:
    centred = image - ops.mean(image, (1, 2, 3), keepdims=True)
    deviation = ops.sqrt(ops.mean(ops.square(centred), (1, 2, 3), keepdims=True))
    return centred / ops.maximum(deviation, math.prod(image.shape[1:]) ** -0.5)


def _contrast(images: Any, contrast_factor: Any) -> Any:
    mean = ops.mean(images, (1, 2), keepdims=True)
    return (images - mean) * contrast_factor + mean


def _stack(values: Any, axis: int = 0) -> Any:
    return ops.stack(values, axis) if any(map(_is_tensor, values)) else list(values)


def _product(input_tensor: Any, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
    if _is_tensor(input_tensor):
        return ops.prod(input_tensor, axis=_axes(axis), keepdims=bool(keepdims))
    return math.prod(input_tensor)


_OF_ONE_TENSOR = """
ceil cos cosh elu erf exp expm1 floor log log1p log_sigmoid logical_not negative ones_like reciprocal relu
relu6 round rsqrt selu sigmoid sign sin sinh softplus softsign sqrt square tan tanh zeros_like
"""
"""Functions of one tensor with the same names in ``tf`` and in ``keras.ops``."""

# Wrappers, because the arguments have the names of ``tf``.
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: _first_of_two(getattr(ops, name)) for name in ("add", "subtract", "multiply", "maximum", "minimum")},
    **{
        name: _first_of_two(getattr(ops, name))
        for name in [
            *("equal", "greater", "greater_equal", "less", "less_equal", "logical_and", "logical_or", "logical_xor"),
            *("mod", "not_equal"),
        ]
    },
    "atan2": _first_of_two(ops.arctan2),
    "divide": _first_of_two(ops.true_divide),
    "divide_no_nan": _first_of_two(lambda x, y: ops.where(ops.equal(y, 0.0), 0.0, x / y)),
    "floormod": _first_of_two(ops.mod),
    **dict.fromkeys(("floordiv", "floor_div"), _first_of_two(ops.floor_divide)),
    "pow": _first_of_two(ops.power),
    "squared_difference": _first_of_two(lambda x, y: ops.square(x - y)),
    "truediv": _first_of_two(ops.true_divide),
    **{name: _of_one(getattr(ops, name)) for name in _OF_ONE_TENSOR.split()},
    **dict.fromkeys(("convert_to_tensor", "identity", "stop_gradient"), _of_one(lambda x: x)),
    **{name: _of_one(getattr(ops, f"arc{name[1:]}")) for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh")},
    "abs": _of_one(ops.absolute),
    "thresholded_relu": lambda x, theta: ops.threshold(x, theta, 0.0),
    "hard_sigmoid": _of_one(lambda x: ops.clip(0.2 * x + 0.5, 0.0, 1.0)),
    **dict.fromkeys(("silu", "swish"), lambda features, beta=1.0: features * ops.sigmoid(beta * features)),
    "reduce_mean": _reduction(ops.mean),
    "reduce_sum": _reduction(ops.sum),
    "reduce_max": _reduction(ops.max),
    "reduce_min": _reduction(ops.min),
    "reduce_variance": _reduction(ops.var),
    "reduce_std": _reduction(ops.std),
    "reduce_all": _reduction(ops.all),
    "reduce_any": _reduction(ops.any),
    "reduce_logsumexp": _reduction(ops.logsumexp),
    "reduce_euclidean_norm": _reduction(lambda x, axis, keepdims: ops.norm(x, axis=axis, keepdims=keepdims)),
    "reduce_prod": _product,
    "norm": _norm,
    **dict.fromkeys(("accumulate_n", "add_n"), lambda inputs, **_: sum(inputs[1:], inputs[0])),
    "multiply_no_nan": _first_of_two(ops.multiply),
    "crelu": lambda features, axis=-1: ops.relu(ops.concatenate([features, -features], axis)),
    "adjust_brightness": lambda image, delta: image + delta,
    "adjust_contrast": _contrast,
    "per_image_standardization": _standardized,
    "matrix_transpose": lambda a, **_: ops.swapaxes(a, -1, -2),
    "one_hot": lambda indices, depth, **_: ops.one_hot(indices, int(depth)),
    "slice": _part,
    "cumsum": lambda x, axis=0, **_: ops.cumsum(x, axis),
    "top_k": _top_k,
    "where": _where,
    "einsum": lambda equation, *inputs, **_: ops.einsum(equation, *map(_constant, inputs)),
    "tensordot": lambda a, b, axes, **_: ops.tensordot(_constant(a), _constant(b), axes),
    "conv2d": _convolution(ops.conv),
    "conv2d_transpose": _transposed,
    "depthwise_conv2d": _convolution(ops.depthwise_conv),
    "argmin": lambda input, axis=None, output_type=None: ops.argmin(input, 0 if axis is None else axis),
    "argmax": lambda input, axis=None, output_type=None: ops.argmax(input, 0 if axis is None else axis),
    "leaky_relu": lambda features, alpha=0.2: ops.leaky_relu(features, alpha),
    "gelu": lambda features, approximate=False: ops.gelu(features, approximate=bool(approximate)),
    "softmax": lambda logits, axis=-1: ops.softmax(logits, axis),
    "log_softmax": lambda logits, axis=-1: ops.log_softmax(logits, axis),
    "bias_add": lambda value, bias, **_: ops.add(value, _constant(bias)),
    "l2_normalize": _l2_normalize,
    "batch_normalization": _batch_normalization,
    **dict.fromkeys(("max_pool", "max_pool2d"), _pool(ops.max_pool)),
    **dict.fromkeys(("avg_pool", "avg_pool2d"), _pool(ops.average_pool)),
    "matmul": _matmul,
    "clip_by_value": lambda t, clip_value_min, clip_value_max: ops.clip(t, clip_value_min, clip_value_max),  # noqa: PLW0108
    "cast": lambda x, dtype: ops.cast(x, dtype) if _is_tensor(x) else x,
    "shape": lambda input, **_: tuple(input.shape),
    "reshape": _reshape,
    "transpose": lambda a, perm=None, **_: ops.transpose(a, perm),
    "expand_dims": lambda input, axis: ops.expand_dims(input, axis),  # noqa: PLW0108
    "squeeze": lambda input, axis=None: ops.squeeze(input, _axes(axis)),
    "concat": _concat,
    "stack": _stack,
    "unstack": lambda value, num=None, axis=0: ops.unstack(value, num, axis),
    "split": _split,
    "repeat": lambda input, repeats, axis=None, **_: ops.repeat(input, repeats, axis),
    "roll": lambda input, shift, axis: ops.roll(input, shift, axis),  # noqa: PLW0108
    "broadcast_to": lambda input, shape: ops.broadcast_to(_constant(input), _of_one_image(shape)),
    "ones": lambda shape, **_: np.ones(_of_one_image(shape), np.float32),
    "zeros": lambda shape, **_: np.zeros(_of_one_image(shape), np.float32),
    "crop_to_bounding_box": lambda image, offset_height, offset_width, target_height, target_width: image[
        :, offset_height : offset_height + target_height, offset_width : offset_width + target_width
    ],
    "flip_left_right": lambda image: ops.flip(image, 2),
    "flip_up_down": lambda image: ops.flip(image, 1),
    "rgb_to_grayscale": lambda images: ops.sum(
        images * np.asarray([0.2989, 0.587, 0.114], np.float32), axis=-1, keepdims=True
    ),
    "tile": lambda input, multiples: ops.tile(_constant(input), _of_one_image(multiples)),
    "pad": _pad,
    "reverse": lambda tensor, axis: ops.flip(tensor, _axes(axis)),
    "gather": lambda params, indices, axis=0, **_: ops.take(params, np.asarray(indices), axis),
    "getitem": _getitem,
    "resize": _resize,
    "resize_bilinear": _resize_v1("bilinear"),
    "resize_nearest_neighbor": _resize_v1("nearest"),
    "depth_to_space": lambda input, block_size, **_: ops.depth_to_space(input, block_size),
    "space_to_depth": lambda input, block_size, **_: ops.space_to_depth(input, block_size),
}
"""Functions of ``tf`` by the last part of their names, with the argument names of ``tf``."""
