"""Keras model -> graph. Keras is imported here and in ``keras_layers``, nowhere else in the engine.

The importer knows nothing of GPU limits: whatever the graph can express is imported, and what the shaders
cannot do is refused later, by the operator.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer import activations, llvm_clash
from glsl_infer.errors import InputError, MissingExtraError, ModelError
from glsl_infer.graph import Graph, Node, Shape
from glsl_infer.importers.quiet import stderr_silenced

SUPPORTED = (
    "InputLayer, Conv2D, BatchNormalization, Activation, ReLU, PiecewiseLinearSigmoid, ChannelShuffle, Add, "
    "GlobalAveragePooling2D, Flatten, Dense, Softmax, Dropout, ZeroPadding2D"
)


def load(path: str | Path) -> Graph:
    """Read a saved ``.keras`` model and return its graph.

    Raises:
        ModelError: the file is missing or no Keras model, or a layer is not supported (by name).
        MissingExtraError: Keras is not installed.
    """
    path = Path(path)
    if not path.is_file():
        raise ModelError(f"{path}: no such file")
    keras = _keras()
    try:
        with stderr_silenced():
            model = keras.saving.load_model(path, compile=False)
    except Exception as error:  # Keras raises a dozen kinds here; all mean that the file is not usable.
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"{path}: not a model that Keras can load ({reason})") from error
    return to_graph(model)


def to_graph(model: Any) -> Graph:
    """Return the graph of a functional Keras model.

    Raises:
        ModelError: a layer or an option that is not supported, naming the layer and what to change.
    """
    _keras()
    if not getattr(model, "inputs", None) or not getattr(model, "outputs", None):
        raise ModelError(f"model '{model.name}' is not functional; build it with keras.Input and keras.Model")
    if len(model.outputs) != 1:
        raise ModelError(f"model '{model.name}' has {len(model.outputs)} outputs; exactly one is supported")
    importer = _Importer()
    output = importer.tensor(model.outputs[0])
    return Graph(model.name, tuple(importer.nodes), output)


class _Importer:
    """Walks from the output to the inputs; nodes come out in topological order."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._names: dict[tuple[int, int], str] = {}

    def tensor(self, tensor: Any) -> str:
        """Return the name of the node that computes a Keras tensor, importing what it needs first."""
        stack = [tensor]
        while stack:
            key, layer, call = self._origin(stack[-1])
            if key in self._names:
                stack.pop()
                continue
            inputs = list(call.arguments.keras_tensors) if call.arguments.keras_tensors else []
            waiting = [one for one in inputs if self._origin(one)[0] not in self._names]
            if waiting:
                stack += reversed(waiting)
                continue
            self._names[key] = self._import(layer, key[1], inputs)
            stack.pop()
        return self._names[self._origin(tensor)[0]]

    def _origin(self, tensor: Any) -> tuple[tuple[int, int], Any, Any]:
        history = tensor._keras_history
        return (
            (id(history.operation), history.node_index),
            history.operation,
            history.operation._inbound_nodes[history.node_index],
        )

    def _import(self, layer: Any, call_index: int, inputs: Sequence[Any]) -> str:
        kind = type(layer).__name__
        convert = CONVERTERS.get(kind)
        if convert is None:
            advice = f"these can be exported: {SUPPORTED}"
            if hasattr(layer, "layers"):
                advice = "call its layers directly instead of nesting a model"
            raise ModelError.layer(layer.name, f"a {kind} cannot be exported", advice)
        name = layer.name if call_index == 0 else f"{layer.name}~{call_index}"
        shapes = [tuple(tensor.shape) for tensor in inputs]
        nodes = convert(layer, name, tuple(self._names[self._origin(one)[0]] for one in inputs), shapes)
        self.nodes += nodes
        return nodes[-1].name


def _input(layer: Any, name: str, inputs: tuple[str, ...], shapes: Sequence[Shape]) -> list[Node]:
    shape = tuple(layer.batch_shape)[1:]
    if len(shape) != 3 or None in shape:
        raise ModelError.layer(name, f"an input of shape {shape}", "give keras.Input a fixed (height, width, channels)")
    return [Node(name, "input", (), {"shape": shape})]


def _conv2d(layer: Any, name: str, inputs: tuple[str, ...], shapes: Sequence[Shape]) -> list[Node]:
    _channels_last(layer)
    if tuple(layer.dilation_rate) != (1, 1):
        raise ModelError.layer(name, f"dilation_rate={tuple(layer.dilation_rate)}", "only (1, 1) can be exported")
    kernel = _array(layer.kernel)
    bias = _array(layer.bias) if layer.use_bias else np.zeros(layer.filters, np.float32)
    padding = (0, 0, 0, 0)
    if layer.padding == "same":
        vertical = same_padding(shapes[0][1], kernel.shape[0], layer.strides[0])
        padding = (*vertical, *same_padding(shapes[0][2], kernel.shape[1], layer.strides[1]))
    elif layer.padding != "valid":
        raise ModelError.layer(name, f"padding='{layer.padding}'", "use 'same' or 'valid'")
    attrs = {
        "strides": tuple(int(stride) for stride in layer.strides),
        "padding": padding,
        "groups": int(layer.groups),
        "activation": "linear",
    }
    node = Node(name, "conv2d", inputs, attrs, {"kernel": kernel, "bias": bias})
    return [node, *_own_activation(layer, name)]


def _dense(layer: Any, name: str, inputs: tuple[str, ...], shapes: Sequence[Shape]) -> list[Node]:
    kernel = _array(layer.kernel)
    bias = _array(layer.bias) if layer.use_bias else np.zeros(kernel.shape[1], np.float32)
    node = Node(name, "dense", inputs, {"activation": "linear"}, {"kernel": kernel, "bias": bias})
    return [node, *_own_activation(layer, name)]


def _batch_norm(layer: Any, name: str, inputs: tuple[str, ...], shapes: Sequence[Shape]) -> list[Node]:
    axis = layer.axis if isinstance(layer.axis, int) else layer.axis[0]
    if axis not in (-1, len(shapes[0]) - 1):
        raise ModelError.layer(name, f"axis={axis}", "normalise the last axis, the channels")
    channels = shapes[0][-1]
    weights = {
        "gamma": _array(layer.gamma) if layer.scale else np.ones(channels, np.float32),
        "beta": _array(layer.beta) if layer.center else np.zeros(channels, np.float32),
        "mean": _array(layer.moving_mean),
        "variance": _array(layer.moving_variance),
    }
    return [Node(name, "batch_norm", inputs, {"epsilon": float(layer.epsilon)}, weights)]


def _activation(layer: Any, name: str, inputs: tuple[str, ...], shapes: Sequence[Shape]) -> list[Node]:
    return [_activation_node(name, inputs, _function_name(layer, name))]


def _relu(layer: Any, name: str, inputs: tuple[str, ...], shapes: Sequence[Shape]) -> list[Node]:
    options = {"max_value": layer.max_value, "negative_slope": layer.negative_slope, "threshold": layer.threshold}
    given = {key: value for key, value in options.items() if value}
    if given:
        raise ModelError.layer(name, f"a ReLU with {given}", "only the plain max(x, 0) can be exported")
    return [Node(name, "activation", inputs, {"function": "relu"})]


def _piecewise(layer: Any, name: str, inputs: tuple[str, ...], shapes: Sequence[Shape]) -> list[Node]:
    return [Node(name, "activation", inputs, {"function": "piecewise_linear_sigmoid"})]


def _channel_shuffle(layer: Any, name: str, inputs: tuple[str, ...], shapes: Sequence[Shape]) -> list[Node]:
    return [Node(name, "channel_shuffle", inputs, {"step": int(layer.step)})]


def _add(layer: Any, name: str, inputs: tuple[str, ...], shapes: Sequence[Shape]) -> list[Node]:
    if len(set(shapes)) != 1:
        raise ModelError.layer(name, f"adds shapes {list(shapes)}", "make them equal; broadcasting cannot be exported")
    return [Node(name, "add", inputs, {"activation": "linear"})]


def _global_average_pool(layer: Any, name: str, inputs: tuple[str, ...], shapes: Sequence[Shape]) -> list[Node]:
    _channels_last(layer)
    pool = Node(name, "global_average_pool", inputs, {"scale": None})
    if layer.keepdims:
        raise ModelError.layer(name, "keepdims=True", "leave it at False")
    return [pool]


def _flatten(layer: Any, name: str, inputs: tuple[str, ...], shapes: Sequence[Shape]) -> list[Node]:
    _channels_last(layer)
    return [Node(name, "flatten", inputs, {"scale": None})]


def _softmax(layer: Any, name: str, inputs: tuple[str, ...], shapes: Sequence[Shape]) -> list[Node]:
    if layer.axis not in (-1, len(shapes[0]) - 1):
        raise ModelError.layer(name, f"axis={layer.axis}", "only the last axis can be exported")
    return [Node(name, "softmax", inputs)]


def _dropout(layer: Any, name: str, inputs: tuple[str, ...], shapes: Sequence[Shape]) -> list[Node]:
    return [Node(name, "identity", inputs)]


def _zero_padding(layer: Any, name: str, inputs: tuple[str, ...], shapes: Sequence[Shape]) -> list[Node]:
    _channels_last(layer)
    (top, bottom), (left, right) = layer.padding
    return [Node(name, "zero_padding", inputs, {"padding": (int(top), int(bottom), int(left), int(right))})]


Converter = Callable[[Any, str, tuple[str, ...], Sequence[Shape]], list[Node]]

CONVERTERS: Mapping[str, Converter] = {
    "InputLayer": _input,
    "Conv2D": _conv2d,
    "BatchNormalization": _batch_norm,
    "Activation": _activation,
    "ReLU": _relu,
    "PiecewiseLinearSigmoid": _piecewise,
    "ChannelShuffle": _channel_shuffle,
    "Add": _add,
    "GlobalAveragePooling2D": _global_average_pool,
    "Flatten": _flatten,
    "Dense": _dense,
    "Softmax": _softmax,
    "Dropout": _dropout,
    "ZeroPadding2D": _zero_padding,
}


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Return (before, after) as Keras pads one axis for ``same``: the odd pixel goes after."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def _own_activation(layer: Any, name: str) -> list[Node]:
    """Return the node of the ``activation=`` argument of a layer, if it has one."""
    function = _function_name(layer, name)
    return [] if function == "linear" else [_activation_node(f"{name}-activation", (name,), function)]


def _activation_node(name: str, inputs: tuple[str, ...], function: str) -> Node:
    if function == "softmax":
        return Node(name, "softmax", inputs)
    return Node(name, "activation", inputs, {"function": function})


def _function_name(layer: Any, name: str) -> str:
    function = getattr(layer.activation, "__name__", type(layer.activation).__name__)
    if function == "PiecewiseLinearSigmoid":
        function = "piecewise_linear_sigmoid"
    if function != "softmax":
        try:
            activations.activation(function)
        except ValueError:
            advice = f"use one of: {', '.join(activations.NAMES)}, softmax"
            raise ModelError.layer(name, f"activation '{function}' cannot be exported", advice) from None
    return str(function)


def _channels_last(layer: Any) -> None:
    if layer.data_format != "channels_last":
        raise ModelError.layer(layer.name, f"data_format='{layer.data_format}'", "only 'channels_last' can be exported")


def _array(variable: Any) -> NDArray[np.float32]:
    from keras import ops

    return np.ascontiguousarray(ops.convert_to_numpy(variable), np.float32)


def _keras() -> Any:
    """Import Keras and our layers, quietly, with TensorFlow behind it unless another backend is chosen."""
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if (
        not llvm_clash.tensorflow_loaded()
        and llvm_clash.mesa_llvm_loaded()
        and os.environ["KERAS_BACKEND"] == "tensorflow"
    ):
        raise InputError(llvm_clash.ADVICE)
    try:
        with stderr_silenced():
            import keras

            from glsl_infer.importers import keras_layers  # noqa: F401  registers the layers
    except ImportError as error:
        raise MissingExtraError.of(f"Keras with a backend ({error})", "train", "exporting a Keras model") from None
    return keras
