"""Keras models as ONNX models in PyTorch's style: channels first, padding in pixels, stored constants.

It covers the layers of ``tests/keras/test_same_graph.py`` only.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET = 20
"""ONNX opset, the first with Gelu."""

_FUNCTIONS = {
    "elu": "Elu",
    "gelu": "Gelu",
    "hard_sigmoid": "HardSigmoid",
    "hard_silu": "HardSwish",
    "mish": "Mish",
    "relu": "Relu",
    "selu": "Selu",
    "sigmoid": "Sigmoid",
    "softplus": "Softplus",
    "softsign": "Softsign",
    "tanh": "Tanh",
}
_OPERATIONS = {
    "Absolute": "Abs",
    "Cos": "Cos",
    "Exp": "Exp",
    "Log": "Log",
    "Reciprocal": "Reciprocal",
    "Sigmoid": "Sigmoid",
    "Sin": "Sin",
    "Sqrt": "Sqrt",
    "Tanh": "Tanh",
}
_REDUCTIONS = {"Max": "ReduceMax", "Mean": "ReduceMean", "Min": "ReduceMin", "Sum": "ReduceSum"}
_FIRST = {0: 0, 1: 2, 2: 3, 3: 1, -1: 1}
"""ONNX axis for each axis of Keras."""
_OF_TWO = {"Add": "Add", "Multiply": "Mul", "Subtract": "Sub", "Maximum": "Max", "Minimum": "Min", "Divide": "Div"}


def to_onnx(model: keras.Model) -> onnx.ModelProto:
    """Return a functional model with one input as ONNX."""
    return _Writer(model).model_proto()


class _Writer:
    def __init__(self, model: keras.Model) -> None:
        self.model = model
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.names: dict[int, str] = {}

    def model_proto(self) -> onnx.ModelProto:
        (image,), (last,) = self.model.inputs, self.model.outputs
        self.names[id(image)] = "image"
        for operation in self.model.operations:
            node = operation._inbound_nodes[-1]
            if node.input_tensors:
                self._one(operation, node)
        self.emit("Identity", [self.names[id(last)]], output="output")
        graph = helper.make_graph(
            self.nodes,
            self.model.name,
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, _first(image.shape))],
            [helper.make_tensor_value_info("output", TensorProto.FLOAT, _first(last.shape))],
            self.constants,
        )
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)

    def constant(self, value: Any) -> str:
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def emit(self, kind: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        output = output or f"tensor{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def _one(self, operation: Any, node: Any) -> None:
        reads = [self.names[id(tensor)] for tensor in node.input_tensors]
        shapes = [tuple(tensor.shape) for tensor in node.input_tensors]
        kind = type(operation).__name__
        (result,) = node.output_tensors
        convert = getattr(self, f"_{kind.lower()}", None)
        if convert is not None:
            name = convert(operation, reads, shapes, tuple(result.shape))
        elif kind in _REDUCTIONS:
            name = self._reduced(operation, reads)
        elif kind in _OPERATIONS:
            name = self.emit(_OPERATIONS[kind], reads)
        else:
            name = self.emit(_OF_TWO[kind], reads)
        self.names[id(result)] = name

    def _activated(self, name: str, layer: Any) -> str:
        function = layer.activation.__name__
        if function == "linear":
            return name
        if function == "softmax":
            return self.emit("Softmax", [name], axis=1)
        if function == "silu":
            return self.emit("Mul", [name, self.emit("Sigmoid", [name])])
        if function == "relu6":
            limits = [self.constant(np.float32(0)), self.constant(np.float32(6))]
            return self.emit("Clip", [name, *limits])
        return self.emit(_FUNCTIONS[function], [name])

    def _activation(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        return self._activated(reads[0], layer)

    def _relu(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        if getattr(layer, "max_value", None) is None:
            return self.emit("Relu", reads)
        limits = [self.constant(np.float32(0)), self.constant(np.float32(layer.max_value))]
        return self.emit("Clip", [*reads, *limits])

    def _leakyrelu(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        return self.emit("LeakyRelu", reads, alpha=float(layer.negative_slope))

    def _conv2d(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        kernel = np.asarray(layer.kernel).transpose(3, 2, 0, 1)
        return self._convolution(layer, reads, shapes[0], kernel, layer.groups)

    def _depthwiseconv2d(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        kernel = np.asarray(layer.kernel)
        height, width, channels, multiplier = kernel.shape
        kernel = kernel.reshape(height, width, channels * multiplier, 1).transpose(2, 3, 0, 1)
        return self._convolution(layer, reads, shapes[0], kernel, channels)

    def _convolution(self, layer: Any, reads: list[str], shape: Any, kernel: NDArray[Any], groups: int) -> str:
        more = [self.constant(kernel)] + ([self.constant(np.asarray(layer.bias))] if layer.use_bias else [])
        pads = _pads(layer.padding, shape[1:3], kernel.shape[2:], layer.strides, layer.dilation_rate)
        name = self.emit(
            "Conv",
            [*reads, *more],
            strides=list(layer.strides),
            dilations=list(layer.dilation_rate),
            group=groups,
            pads=pads,
        )
        return self._activated(name, layer)

    def _dense(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        weights = [self.constant(np.asarray(layer.kernel).T), self.constant(np.asarray(layer.bias))]
        return self._activated(self.emit("Gemm", [*reads, *weights], transB=1), layer)

    def _batchnormalization(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        weights = (layer.gamma, layer.beta, layer.moving_mean, layer.moving_variance)
        names = [self.constant(np.asarray(value)) for value in weights]
        return self.emit("BatchNormalization", [*reads, *names], epsilon=float(layer.epsilon))

    def _maxpooling2d(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        return self._pooled("MaxPool", layer, reads, shapes[0])

    def _averagepooling2d(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        return self._pooled("AveragePool", layer, reads, shapes[0])

    def _pooled(self, kind: str, layer: Any, reads: list[str], shape: Any) -> str:
        pads = _pads(layer.padding, shape[1:3], layer.pool_size, layer.strides)
        return self.emit(kind, reads, kernel_shape=list(layer.pool_size), strides=list(layer.strides), pads=pads)

    def _globalaveragepooling2d(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        name = self.emit("GlobalAveragePool", reads)
        return name if layer.keepdims else self.emit("Flatten", [name])

    def _flatten(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        last = self.emit("Transpose", reads, perm=[0, 2, 3, 1]) if len(shapes[0]) == 4 else reads[0]
        return self.emit("Flatten", [last])

    def _reshape(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        name = reads[0]
        if len(shapes[0]) == 4:
            name = self.emit("Transpose", [name], perm=[0, 2, 3, 1])
        name = self.emit("Reshape", [name, self.constant(np.asarray([1, *output_shape[1:]], np.int64))])
        return self.emit("Transpose", [name], perm=[0, 3, 1, 2]) if len(output_shape) == 4 else name

    def _concatenate(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        return self.emit("Concat", reads, axis=1)

    def _pad(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        batch, rows, columns, channels = layer.pad_width
        widths = np.asarray([batch, channels, rows, columns], np.int64)
        return self.emit("Pad", [*reads, self.constant(widths.T.reshape(-1))])

    def _zeropadding2d(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        (top, bottom), (left, right) = layer.padding
        return self.emit("Pad", [*reads, self.constant(np.asarray([0, 0, top, left, 0, 0, bottom, right], np.int64))])

    def _cropping2d(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        (top, bottom), (left, right) = layer.cropping
        height, width = shapes[0][1:3]
        bounds = ([top, left], [height - bottom, width - right], [2, 3])
        return self.emit("Slice", [*reads, *(self.constant(np.asarray(each, np.int64)) for each in bounds)])

    def _upsampling2d(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        scales = self.constant(np.asarray([1, 1, *layer.size], np.float32))
        modes = {"nearest": ("nearest", "asymmetric"), "bilinear": ("linear", "half_pixel")}
        mode, how = modes[layer.interpolation]
        return self.emit(
            "Resize", [*reads, "", scales], mode=mode, coordinate_transformation_mode=how, nearest_mode="floor"
        )

    def _softmax(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        return self.emit("Softmax", reads, axis=1)

    def _conv2dtranspose(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        kernel = np.asarray(layer.kernel).transpose(3, 2, 0, 1)
        weights = [self.constant(kernel), self.constant(np.asarray(layer.bias))]
        before, after = shapes[0][1:3], output_shape[1:3]
        spans = zip(before, layer.strides, kernel.shape[2:], after)
        surplus = [(size - 1) * stride + taps - own for size, stride, taps, own in spans]
        pads = [*(each // 2 for each in surplus), *(each - each // 2 for each in surplus)]
        name = self.emit("ConvTranspose", [*reads, *weights], strides=list(layer.strides), pads=pads)
        return self._activated(name, layer)

    def _separableconv2d(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        kernel = np.asarray(layer.depthwise_kernel).transpose(2, 3, 0, 1)
        pads = _pads(layer.padding, shapes[0][1:3], kernel.shape[2:], layer.strides)
        options = {"group": kernel.shape[0], "strides": list(layer.strides), "pads": pads}
        name = self.emit("Conv", [*reads, self.constant(kernel)], **options)
        mixed = self.constant(np.asarray(layer.pointwise_kernel).transpose(3, 2, 0, 1))
        return self._activated(self.emit("Conv", [name, mixed, self.constant(np.asarray(layer.bias))]), layer)

    def _prelu(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        return self.emit("PRelu", [*reads, self.constant(np.asarray(layer.alpha).reshape(-1, 1, 1))])

    def _globalmaxpooling2d(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        return self.emit("Flatten", [self.emit("GlobalMaxPool", reads)])

    def _layernormalization(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        weights = [self.constant(np.asarray(value)) for value in (layer.gamma, layer.beta)]
        last = self.emit("Transpose", reads, perm=[0, 2, 3, 1])
        name = self.emit("LayerNormalization", [last, *weights], axis=-1, epsilon=float(layer.epsilon))
        return self.emit("Transpose", [name], perm=[0, 3, 1, 2])

    def _permute(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        last = self.emit("Transpose", reads, perm=[0, 2, 3, 1])
        return self.emit("Transpose", [self.emit("Transpose", [last], perm=[0, *layer.dims])], perm=[0, 3, 1, 2])

    def _unitnormalization(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        return self.emit("LpNormalization", reads, axis=1, p=2)

    def _average(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        return self.emit("Mean", reads)

    def _add(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        name = reads[0]
        for other in reads[1:]:
            name = self.emit("Add", [name, other])
        return name

    def _square(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        return self.emit("Mul", [reads[0], reads[0]])

    def _rsqrt(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        return self.emit("Reciprocal", [self.emit("Sqrt", reads)])

    def _clip(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        limits = [self.constant(np.float32(value)) for value in (layer.x_min, layer.x_max)]
        return self.emit("Clip", [*reads, *limits])

    def _reduced(self, layer: Any, reads: list[str]) -> str:
        axes = layer.axis if isinstance(layer.axis, (list, tuple)) else [layer.axis]
        kind, keep = _REDUCTIONS[type(layer).__name__], int(layer.keepdims)
        axes_in_file = [_FIRST[axis] for axis in axes]
        return self.emit(kind, [*reads, self.constant(np.asarray(axes_in_file, np.int64))], keepdims=keep)

    def _dropout(self, layer: Any, reads: list[str], shapes: list[Any], output_shape: Any) -> str:
        return self.emit("Identity", reads)


def _first(shape: Any) -> list[int]:
    """Return a shape with a batch of 1 and channels first."""
    sizes = [1, *shape[1:]]
    return [sizes[0], sizes[3], sizes[1], sizes[2]] if len(sizes) == 4 else sizes


def _pads(padding: str, size: Any, window: Any, strides: Any, dilations: Any = (1, 1)) -> list[int]:
    """Return the pads of a window along both axes, as ONNX orders them."""
    if padding == "valid":
        return [0, 0, 0, 0]
    before, after = [], []
    for length, taps, stride, dilation in zip(size, window, strides, dilations):
        total = max((-(-length // stride) - 1) * stride + (taps - 1) * dilation + 1 - length, 0)
        before.append(total // 2)
        after.append(total - total // 2)
    return [*before, *after]
