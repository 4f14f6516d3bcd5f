"""Every supported ONNX operator, compared with ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx_choices
import pytest
from onnx_networks import File, agreement, onnx

from glsl_infer import ops
from glsl_infer.errors import ModelError
from glsl_infer.importers import onnx as importer
from glsl_infer.importers.onnx.operators import ONNX_RUNTIME_OPERATORS, OPERATORS

Build = Callable[[File, str], str]
"""Adds an operator after a map of 8x6 pixels and 4 channels."""

MAP = (1, 4, 8, 6)


def unary(kind: str, opset: int = 17, **attributes: Any) -> Build:
    def build(file: File, x: str) -> str:
        file.opset = opset
        return file.op(kind, [x], MAP, **attributes)

    return build


def constant(kind: str, shape: Sequence[int], *, first: bool = False, since: int = 17) -> Build:
    def build(file: File, x: str) -> str:
        file.opset = since
        other = file.constant(file.rng.uniform(0.5, 1.5, shape))
        return file.op(kind, [other, x] if first else [x, other], np.broadcast_shapes(MAP, tuple(shape)))

    return build


def of_two(kind: str, shape: Sequence[int] = MAP) -> Build:
    """Return a builder of an operator on two maps, the second broadcast along axes of size 1."""

    def build(file: File, x: str) -> str:
        y = file.op("Sigmoid", [file.conv(x, 4)], MAP)
        for axis in (1, 2, 3):
            if shape[axis] == 1:
                own = list(file.shapes[y])
                own[axis] = 1
                y = file.op("ReduceMax", [y], own, axes=[axis])
        y = file.op("Add", [y, file.constant(0.5)], shape)
        return file.op(kind, [x, y], MAP)

    return build


def positive(kind: str, exponent: float | None = None) -> Build:
    """Return a builder of an operation on values from 1 to 2."""

    def build(file: File, x: str) -> str:
        above = file.op("Add", [file.op("Sigmoid", [x], MAP), file.constant(1.0)], MAP)
        return file.op(kind, [above, *([] if exponent is None else [file.constant(exponent)])], MAP)

    return build


def conv(kernel: tuple[int, ...], shape: Sequence[int], **attributes: Any) -> Build:
    def build(file: File, x: str) -> str:
        return file.op("Conv", [x, file.random(*kernel), file.random(kernel[0])], shape, **attributes)

    return build


def line(kind: str, *weights: tuple[int, ...], shape: Sequence[int], **attributes: Any) -> Build:
    """Return a builder of an operator on (batch, channels, length)."""

    def build(file: File, x: str) -> str:
        flat = file.reshape(x, (1, 4, 48))
        return file.op(kind, [flat, *(file.random(*each) for each in weights)], shape, **attributes)

    return build


def pool(kind: str, window: tuple[int, int], opset: int = 17, **attributes: Any) -> Build:
    def build(file: File, x: str) -> str:
        file.opset = opset
        return file.op(kind, [x], (1, 4, 1, 1), kernel_shape=list(window), **attributes)

    return build


def reduce(kind: str, axes: Sequence[int], opset: int = 17, keep: int = 1) -> Build:
    """Return a builder of a reduction along axes."""

    def build(file: File, x: str) -> str:
        file.opset = opset
        since = 13 if kind == "ReduceSum" else 18
        return file.axes(kind, x, axes, (1,), since, keepdims=keep)

    return build


def through(*steps: Callable[[File, str], str]) -> Build:
    def build(file: File, x: str) -> str:
        for step in steps:
            x = step(file, x)
        return x

    return build


def with_opset(opset: int, step: Build) -> Build:
    def build(file: File, x: str) -> str:
        file.opset = opset
        return step(file, x)

    return build


def resize(size: Sequence[int], opset: int = 17, **attributes: Any) -> Build:
    """Return a builder of a Resize to a size."""

    def build(file: File, x: str) -> str:
        file.opset = opset
        inputs = [x, "", "", file.constant([1, 4, *size], "int64")]
        return file.op("Resize", inputs, (1, 4, *size), **attributes)

    return build


def scaled(scales: Sequence[float], opset: int, **attributes: Any) -> Build:
    def build(file: File, x: str) -> str:
        file.opset = opset
        return file.resize(x, (int(scales[0]), int(scales[1])), **attributes)

    return build


def normal(kind: str, opset: int, weights: Sequence[Sequence[int]], **attributes: Any) -> Build:
    def build(file: File, x: str) -> str:
        file.opset = opset
        return file.op(kind, [x, *(file.random(*shape) for shape in weights)], MAP, **attributes)

    return build


def batch_norm(shape: Sequence[int]) -> Build:
    """Return a builder of a batch normalisation of a tensor of the given shape."""

    def build(file: File, x: str) -> str:
        y = file.reshape(x, shape)
        count = shape[1]
        weights = [file.random(count), file.random(count), file.random(count), file.constant(np.full(count, 0.8))]
        return file.op("BatchNormalization", [y, *weights], shape)

    return build


def gemm(file: File, x: str) -> str:
    flat = file.op("Flatten", [x], (1, 192))
    return file.op(
        "Gemm", [flat, file.random(5, 192, spread=0.1), file.random(5)], (1, 5), transB=1, alpha=0.5, beta=2.0
    )


def gemm_of_two(file: File, x: str) -> str:
    a, b = file.reshape(x, (12, 16)), file.reshape(x, (12, 16))
    return file.op("Gemm", [a, b, file.random(16)], (16, 16), transA=1)


def gemm_from_left(file: File, x: str) -> str:
    return file.op("Gemm", [file.random(3, 12), file.reshape(x, (12, 16))], (3, 16))


def matmul(file: File, x: str) -> str:
    return file.op("MatMul", [file.transpose(x, (0, 2, 3, 1)), file.random(4, 5)], (1, 8, 6, 5))


def matmul_from_left(file: File, x: str) -> str:
    return file.op("MatMul", [file.random(3, 8), x], (1, 4, 3, 6))


def matmul_of_two(file: File, x: str) -> str:
    return file.op("MatMul", [x, file.transpose(x, (0, 1, 3, 2))], (1, 4, 8, 8))


def matmul_by_batches(file: File, x: str) -> str:
    return file.op("MatMul", [x, file.random(4, 6, 3)], (1, 4, 8, 3))


def concat(axis: int) -> Build:
    return lambda file, x: file.op("Concat", [x, file.op("Relu", [x], MAP)], (1, 4, 8, 6), axis=axis)


def concat_constant(file: File, x: str) -> str:
    rows = file.transpose(file.reshape(x, (1, 4, 48)), (0, 2, 1))
    return file.op("Concat", [file.random(1, 1, 4), rows], (1, 49, 4), axis=1)


def split_evenly(file: File, x: str) -> str:
    file.opset = 18
    parts = file.several("Split", [file.conv(x, 6)], [(1, 3, 8, 6), (1, 3, 8, 6)], axis=1, num_outputs=2)
    return file.op("Sub", parts, (1, 3, 8, 6))


def split_rows(file: File, x: str) -> str:
    parts = file.split(x, 2, [2, 6])
    return file.op("Relu", [parts[1]], (1, 4, 6, 6))


def gather(axis: int, indices: Any) -> Build:
    return lambda file, x: file.op("Gather", [x, file.constant(indices, "int64")], (1,), axis=axis)


def expand(shape: Sequence[int]) -> Build:
    def build(file: File, x: str) -> str:
        small = file.op("ReduceMean", [x], (1, 4, 1, 1), axes=[2, 3])
        return file.op("Expand", [small, file.constant(shape, "int64")], shape)

    return build


def expand_channels(file: File, x: str) -> str:
    small = file.op("ReduceMax", [x], (1, 1, 8, 6), axes=[1])
    return file.op("Expand", [small, file.constant((1, 3, 1, 1), "int64")], (1, 3, 8, 6))


def tile(counts: Sequence[int]) -> Build:
    shape = [size * count for size, count in zip(MAP, counts)]
    return lambda file, x: file.op("Tile", [x, file.constant(counts, "int64")], shape)


def condition(chosen: bool) -> Build:
    """Return a builder of an If with a constant condition, whose branches use the same tensor names."""

    def build(file: File, x: str) -> str:
        helper, float_ = onnx.helper, onnx.TensorProto.FLOAT
        parts = [
            helper.make_graph(
                [helper.make_node(kind, [x], ["inner"]), helper.make_node("Neg", ["inner"], [f"end-{kind}"])],
                kind,
                [],
                [helper.make_tensor_value_info(f"end-{kind}", float_, None)],
            )
            for kind in ("Relu", "Tanh")
        ]
        condition = file.constant(chosen, "bool")
        first = file.op("If", [condition], MAP, then_branch=parts[0], else_branch=parts[1])
        parts[0].node[0].input[0] = parts[1].node[0].input[0] = first
        return file.op("If", [condition], MAP, then_branch=parts[0], else_branch=parts[1])

    return build


def computed_condition(bound: float, *, constants: bool) -> Build:
    """Return a builder of an If that depends on the map's maximum, whose branches compute, or are constants."""

    def build(file: File, x: str) -> str:
        helper, float_ = onnx.helper, onnx.TensorProto.FLOAT
        branches = []
        for kind, value in (("Relu", 2.0), ("Tanh", 3.0)):
            tensor = onnx.numpy_helper.from_array(np.full((4, 1, 1), value, np.float32))
            constant = helper.make_node("Constant", [], ["end"], value=tensor)
            node = constant if constants else helper.make_node(kind, [x], ["end"])
            branches.append(helper.make_graph([node], kind, [], [helper.make_tensor_value_info("end", float_, None)]))
        large = file.op("Greater", [file.op("ReduceMax", [x], (), keepdims=0), file.constant(bound)], ())
        chosen = file.op("If", [large], MAP, then_branch=branches[0], else_branch=branches[1])
        return file.op("Mul", [x, chosen], MAP)

    return build


def sizes_from_shape(file: File, x: str) -> str:
    """Add a resize to twice the sizes, computed by Shape, Slice, Cast, Mul and Concat, and a Range and Where."""
    shape = file.op("Shape", [x], (4,))
    size = file.op("Slice", [shape, *(file.constant([n], "int64") for n in (2, 4, 0))], (2,))
    double = file.op(
        "Cast", [file.op("Mul", [file.op("Cast", [size], (2,), to=1), file.constant(2.0)], (2,))], (2,), to=7
    )
    first = file.op("Slice", [shape, *(file.constant([n], "int64") for n in (0, 2, 0))], (2,))
    whole = file.op("Concat", [first, double], (4,), axis=0)
    wide = file.op("Resize", [x, "", "", whole], (1, 4, 16, 12), mode="nearest", nearest_mode="floor",
                   coordinate_transformation_mode="asymmetric")  # fmt: skip
    columns = file.op("Range", [file.constant(n, "int64") for n in (0, 12, 1)], (12,))
    even = file.op(
        "Equal", [file.op("Mod", [columns, file.constant(2, "int64")], (12,)), file.constant(0, "int64")], (12,)
    )
    mask = file.op("Where", [even, file.constant(1.0), file.constant(0.5)], (12,))
    return file.op("Mul", [wide, mask], (1, 4, 16, 12))


def filled(file: File, x: str) -> str:
    """Add a ConstantOfShape whose shape is computed."""
    numpy_helper = onnx.numpy_helper
    zeros = file.op("ConstantOfShape", [file.op("Shape", [x], (4,))], MAP,
                    value=numpy_helper.from_array(np.asarray([0.25], np.float32)))  # fmt: skip
    return file.op("Add", [x, zeros], MAP)


def split_with_an_empty_part(file: File, x: str) -> str:
    """Split the channels into all and none, and concatenate the parts."""
    parts = file.several("Split", [x, file.constant([4, 0], "int64")], [MAP, (1, 0, 8, 6)], axis=1)
    return file.op("Concat", [parts[1], parts[0]], MAP, axis=1)


CASES: dict[str, list[Build]] = {
    "Abs": [unary("Abs")],
    "Add": [constant("Add", (4, 1, 1)), constant("Add", (1, 1, 8, 6)), of_two("Add"), of_two("Add", (1, 4, 1, 1)),
            of_two("Add", (1, 1, 8, 6)), filled],
    "ArgMax": [unary("ArgMax", axis=1), unary("ArgMax", axis=2, keepdims=0), unary("ArgMax", axis=-1)],
    "ArgMin": [unary("ArgMin", axis=1, keepdims=0), unary("ArgMin", axis=3), unary("ArgMin", axis=0)],
    "AveragePool": [pool("AveragePool", (2, 2), strides=[2, 2]), pool("AveragePool", (8, 6)),
                    pool("AveragePool", (3, 3), pads=[1, 1, 1, 1], count_include_pad=1),
                    pool("AveragePool", (3, 3), strides=[2, 2], pads=[1, 0, 1, 0], ceil_mode=1),
                    pool("AveragePool", (3, 3), strides=[2, 2], auto_pad="SAME_UPPER"),
                    pool("AveragePool", (3, 3), 19, dilations=[2, 1], count_include_pad=1, pads=[1, 1, 1, 1]),
                    line("AveragePool", shape=(1, 4, 24), kernel_shape=[2], strides=[2])],
    "BatchNormalization": [batch_norm(MAP), batch_norm((1, 4, 48)), batch_norm((1, 192))],
    "Cast": [unary("Cast", to=1)],
    "CastLike": [lambda file, x: file.op("CastLike", [x, file.constant(1.0)], MAP)],
    "Celu": [unary("Celu", alpha=0.7)],
    "Clip": [lambda file, x: file.clip(x, -0.5, 0.75), lambda file, x: file.clip(x, 0.0, 6.0),
             lambda file, x: file.clip(x, None, 0.5), unary("Clip", 7, min=-0.5),
             lambda file, x: file.clip(x, 1.0, 0.5),
             lambda file, x: file.op("Clip", [x, file.op("ReduceMean", [x], (), keepdims=0)], MAP)],
    "Concat": [concat(1), concat(2), concat(3), concat_constant],
    "Conv": [conv((5, 4, 3, 3), (1, 5, 6, 4)), conv((6, 2, 3, 3), (1, 6, 8, 6), group=2, pads=[1, 1, 1, 1]),
             conv((4, 1, 3, 5), (1, 4, 4, 6), group=4, strides=[2, 1], pads=[1, 2, 1, 2]),
             conv((3, 4, 3, 3), (1, 3, 8, 6), dilations=[2, 1], pads=[2, 1, 2, 1]),
             conv((3, 4, 4, 4), (1, 3, 4, 3), strides=[2, 2], auto_pad="SAME_UPPER"),
             conv((3, 4, 4, 4), (1, 3, 4, 3), strides=[2, 2], auto_pad="SAME_LOWER"),
             line("Conv", (5, 4, 3), shape=(1, 5, 46))],
    "ConvInteger": [],
    "ConvTranspose": [normal("ConvTranspose", 17, [(4, 3, 2, 2), (3,)], strides=[2, 2]),
                      normal("ConvTranspose", 17, [(4, 3, 3, 3)], strides=[2, 2], pads=[1, 1, 1, 1],
                             output_padding=[1, 0]),
                      normal("ConvTranspose", 17, [(4, 2, 3, 3)], strides=[2, 1], group=2, auto_pad="SAME_UPPER"),
                      normal("ConvTranspose", 17, [(4, 3, 3, 3)], dilations=[2, 2], strides=[2, 2]),
                      normal("ConvTranspose", 17, [(4, 3, 4, 4)], strides=[2, 2], output_shape=[17, 13]),
                      line("ConvTranspose", (4, 3, 4), shape=(1, 3, 96), strides=[2], pads=[1, 1])],
    "DepthToSpace": [unary("DepthToSpace", blocksize=2), unary("DepthToSpace", blocksize=2, mode="CRD")],
    "DequantizeLinear": [],
    "DynamicQuantizeLinear": [],
    "Div": [constant("Div", (1,)), of_two("Div"), constant("Div", (), first=False)],
    "Dropout": [unary("Dropout", 11, ratio=0.3)],
    "Elu": [unary("Elu", alpha=0.6)],
    "Exp": [unary("Exp")],
    "Expand": [expand((1, 4, 3, 5)), expand_channels, expand((2, 4, 1, 1))],
    "Flatten": [unary("Flatten", axis=2), unary("Flatten")],
    "Gather": [gather(1, [2, 0, 3]), gather(1, 2), gather(2, [1, 3, 5]), gather(3, [5, 0, 0]), gather(1, [-1])],
    "Gelu": [unary("Gelu", 20), unary("Gelu", 20, approximate="tanh")],
    "Gemm": [gemm, gemm_of_two, gemm_from_left],
    "GlobalAveragePool": [unary("GlobalAveragePool"), line("GlobalAveragePool", shape=(1, 4, 1))],
    "GlobalLpPool": [unary("GlobalLpPool"), unary("GlobalLpPool", p=3)],
    "GlobalMaxPool": [unary("GlobalMaxPool")],
    "GroupNormalization": [normal("GroupNormalization", 21, [(4,), (4,)], num_groups=2),
                           normal("GroupNormalization", 18, [(2,), (2,)], num_groups=2)],
    "Hardmax": [unary("Hardmax", axis=1), unary("Hardmax", axis=2), unary("Hardmax", 11, axis=1)],
    "HardSigmoid": [unary("HardSigmoid"), unary("HardSigmoid", alpha=1 / 6, beta=0.5)],
    "HardSwish": [unary("HardSwish")],
    "Identity": [unary("Identity"), condition(True), condition(False),
                 *(computed_condition(bound, constants=fixed) for bound in (-9, 9) for fixed in (False, True))],
    "InstanceNormalization": [normal("InstanceNormalization", 17, [(4,), (4,)])],
    "LRN": [unary("LRN", size=3, alpha=0.5, beta=0.6, bias=1.5)],
    "LayerNormalization": [normal("LayerNormalization", 17, [(6,), (6,)], axis=-1),
                           normal("LayerNormalization", 17, [(4, 8, 6), (4, 8, 6)], axis=1),
                           normal("LayerNormalization", 17, [(8, 6), (8, 6)], axis=2)],
    "LeakyRelu": [unary("LeakyRelu", alpha=0.3)],
    "Log": [positive("Log")],
    "LogSoftmax": [unary("LogSoftmax", axis=1), unary("LogSoftmax", 11, axis=1)],
    "LpNormalization": [unary("LpNormalization", axis=1), unary("LpNormalization", axis=3),
                        unary("LpNormalization", axis=1, p=1), unary("LpNormalization", axis=2, p=1)],
    "LpPool": [pool("LpPool", (2, 2), strides=[2, 2])],
    "MatMul": [matmul, matmul_from_left, matmul_of_two, matmul_by_batches],
    "MatMulInteger": [],
    "Max": [of_two("Max"), constant("Max", (1,)), constant("Max", (4, 1, 1))],
    "MaxPool": [pool("MaxPool", (2, 2), strides=[2, 2]), pool("MaxPool", (3, 3), dilations=[2, 2], pads=[1, 1, 1, 1]),
                pool("MaxPool", (3, 3), strides=[2, 2], ceil_mode=1),
                pool("MaxPool", (3, 2), strides=[2, 1], pads=[1, 0, 0, 1]), line("MaxPool", shape=(1, 4, 24),
                                                                                kernel_shape=[2], strides=[2])],
    "Mean": [lambda file, x: file.op("Mean", [x, file.conv(x, 4), file.conv(x, 4)], MAP)],
    "MeanVarianceNormalization": [unary("MeanVarianceNormalization")],
    "Min": [of_two("Min"), constant("Min", (1,)), constant("Min", (4, 1, 1))],
    "Mish": [unary("Mish", 18)],
    "Mul": [of_two("Mul"), of_two("Mul", (1, 4, 1, 1)), constant("Mul", (8, 6)), constant("Mul", (1, 1, 4, 1, 1)),
            sizes_from_shape],
    "Neg": [unary("Neg")],
    "PRelu": [constant("PRelu", (4, 1, 1)), constant("PRelu", (1,)), constant("PRelu", (4, 8, 6)),
              constant("PRelu", (6,))],
    "Pad": [lambda file, x: file.pad(x, [0, 0, 1, 2, 0, 0, 0, 1]),
            lambda file, x: file.pad(x, [0, 1, 0, 0, 0, 2, 0, 0]),
            lambda file, x: file.pad(x, [1, 0, 0, 0, 1, 0, 0, 0], "constant", 0.5),
            lambda file, x: file.pad(x, [0, 0, 1, 2, 0, 0, 0, 1], "reflect"),
            lambda file, x: file.pad(x, [0, 0, 1, 2, 0, 0, 0, 1], "edge"),
            lambda file, x: file.pad(x, [0, 0, 1, 2, 0, 0, -1, 1], "constant", -1.5),
            with_opset(7, lambda file, x: file.pad(x, [0, 0, 1, 2, 0, 0, 0, 1], "constant", 0.5)),
            with_opset(19, lambda file, x: file.pad(x, [0, 0, 1, 2, 0, 0, 3, 1], "wrap")),
            with_opset(18, lambda file, x: file.op("Pad", [x, file.constant([1, 2], "int64"), "",
                                                           file.constant([3], "int64")], MAP))],
    "Pow": [positive("Pow", 1.7), positive("Pow", 2.0)],
    "QLinearConv": [],
    "QLinearMatMul": [],
    "QuantizeLinear": [],
    "RMSNormalization": [normal("RMSNormalization", 23, [(6,)], axis=-1)],
    "Reciprocal": [positive("Reciprocal")],
    "ReduceL1": [reduce("ReduceL1", [2, 3])],
    "ReduceL2": [reduce("ReduceL2", [1])],
    "ReduceLogSum": [through(positive("Identity"), reduce("ReduceLogSum", [1]))],
    "ReduceLogSumExp": [reduce("ReduceLogSumExp", [1])],
    "ReduceMax": [reduce("ReduceMax", [1]), reduce("ReduceMax", [2], keep=0), reduce("ReduceMax", [1, 2, 3], 20)],
    "ReduceMean": [reduce("ReduceMean", [2, 3]), reduce("ReduceMean", [2, 3], 18, keep=0), reduce("ReduceMean", [1]),
                   reduce("ReduceMean", [3]), reduce("ReduceMean", [1, 2, 3])],
    "ReduceMin": [reduce("ReduceMin", [2, 3])],
    "ReduceSum": [reduce("ReduceSum", [2, 3]), reduce("ReduceSum", [1, 3], keep=0), reduce("ReduceSum", [-1], 11)],
    "ReduceSumSquare": [reduce("ReduceSumSquare", [1])],
    "Relu": [unary("Relu")],
    "Reshape": [lambda file, x: file.reshape(x, (1, 8, 4, 6)), lambda file, x: file.reshape(x, (1, 4, 48)),
                lambda file, x: file.reshape(x, (3, 64))],
    "Resize": [resize((16, 12), mode="nearest"), resize((11, 5), mode="linear"), resize((13, 9), mode="cubic"),
               resize((15, 11), mode="linear", coordinate_transformation_mode="align_corners"),
               resize((4, 3), 18, mode="linear", antialias=1), resize((5, 4), mode="nearest", nearest_mode="ceil"),
               scaled((2, 3), 10), scaled((2, 2), 13, mode="linear"),
               resize((16, 16), 18, mode="nearest", nearest_mode="floor",
                      coordinate_transformation_mode="half_pixel_symmetric")],
    "Selu": [unary("Selu"), unary("Selu", alpha=1.2, gamma=0.9)],
    "Shrink": [unary("Shrink", lambd=0.4, bias=0.4), unary("Shrink", lambd=0.4)],
    "Sigmoid": [unary("Sigmoid")],
    "SimplifiedLayerNormalization": [],
    "Slice": [lambda file, x: file.slice(x, 1, range(1, 3)), lambda file, x: file.slice(x, 2, range(1, 8, 2)),
              lambda file, x: file.slice(x, 3, range(5, -1, -1)),
              with_opset(9, lambda file, x: file.slice(x, 1, range(0, 2)))],
    "Softmax": [unary("Softmax", axis=1), unary("Softmax", 11, axis=1), unary("Softmax", axis=3),
                unary("Softmax", axis=2), unary("Softmax", 11, axis=3)],
    "Softplus": [unary("Softplus")],
    "Softsign": [unary("Softsign")],
    "SpaceToDepth": [unary("SpaceToDepth", blocksize=2)],
    "Split": [split_evenly, split_rows, split_with_an_empty_part],
    "Sqrt": [positive("Sqrt")],
    "Squeeze": [through(reduce("ReduceMean", [2, 3]), lambda file, x: file.axes("Squeeze", x, [2, 3], (1, 4))),
                through(reduce("ReduceMean", [2, 3]), lambda file, x: file.op("Squeeze", [x], (4,)))],
    "Sub": [constant("Sub", (1,)), constant("Sub", (4, 1, 1), first=True), of_two("Sub")],
    "Sum": [lambda file, x: file.op("Sum", [x, file.conv(x, 4), file.conv(x, 4)], MAP), unary("Sum")],
    "Swish": [],
    "Tanh": [unary("Tanh")],
    "ThresholdedRelu": [unary("ThresholdedRelu", alpha=0.4)],
    "Tile": [tile((1, 1, 2, 3)), tile((1, 3, 1, 1)),
             through(reduce("ReduceMean", [2, 3]), lambda file, x: file.op(
                 "Tile", [x, file.constant((1, 1, 5, 3), "int64")], (1, 4, 5, 3)))],
    "Transpose": [lambda file, x: file.transpose(x, (0, 1, 3, 2)), lambda file, x: file.transpose(x, (0, 2, 3, 1)),
                  lambda file, x: file.transpose(x, (3, 2, 1, 0))],
    "Unsqueeze": [through(reduce("ReduceMean", [2, 3], keep=0),
                          lambda file, x: file.axes("Unsqueeze", x, [2, 3], (1,))),
                  with_opset(11, lambda file, x: file.axes("Unsqueeze", x, [2], (1,)))],
    "Upsample": [scaled((2, 3), 7), scaled((2, 2), 9, mode="linear")],
}  # fmt: skip

ELSEWHERE = {
    *("ConvInteger", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger"),
    *("QLinearConv", "QLinearMatMul", "QuantizeLinear"),
}
"""Operators of ``test_onnx_quantized``."""

NOT_JUDGED = {"SimplifiedLayerNormalization", "Swish"}
"""Operators that ONNX Runtime's CPU lacks, at least in these opsets."""


for kind, more in {**onnx_choices.CASES, **onnx_choices.MORE}.items():
    CASES[kind] = [*CASES.get(kind, []), *more]


def test_every_operator_has_a_case() -> None:
    assert set(CASES) == set(OPERATORS)
    assert {kind for kind, cases in CASES.items() if not cases} == ELSEWHERE | NOT_JUDGED
    assert ONNX_RUNTIME_OPERATORS


@pytest.mark.parametrize("kind", CASES)
def test_operators_agree_with_onnx_runtime(kind: str) -> None:
    for seed, build in enumerate(CASES[kind]):
        file = File(seed)
        x = file.conv(file.input(("N", 3, 8, 6)), 4)
        file.output(build(file, x))
        assert agreement(file.model(), seed=seed) <= 2e-5, (kind, seed)


def _rotated(file: File, x: str) -> str:
    rows, angles = file.reshape(x, (1, 4, 48)), [file.random(1, 4, 12), file.random(1, 4, 12)]
    return file.op("RotaryEmbedding", [rows, *angles], (1, 4, 48), num_heads=2)


def _with_mean(file: File, x: str) -> str:
    result = file.several("LayerNormalization", [x, file.random(6)], [MAP, (1, 4, 8, 1)])
    return file.op("Sub", [result[0], result[1]], MAP)


def _windowed(file: File, x: str) -> str:
    return file.op("Mul", [x, file.op("HannWindow", [file.constant(6, "int64")], (6,))], MAP)


DEFINED: dict[str, Build] = {
    "Affine": unary("Affine", 9, alpha=2.0, beta=-0.5),
    "Crop": with_opset(9, lambda file, x: file.op("Crop", [x], (1, 4, 5, 5), border=[1, 2, 0, 1])),
    "Crop by size": with_opset(
        9, lambda file, x: file.op("Crop", [x], (1, 4, 3, 4), border=[1, 2, 0, 0], scale=[3, 4])
    ),
    "ImageScaler": unary("ImageScaler", 9, scale=2.0, bias=[0.1, 0.2, 0.3, 0.4]),
    "ScaledTanh": unary("ScaledTanh", 9, alpha=2.0, beta=0.5),
    "CenterCropPad": with_opset(
        18, lambda file, x: file.op("CenterCropPad", [x, file.constant([5, 8], "int64")], (1, 4, 5, 8), axes=[2, 3])
    ),
    "HannWindow": _windowed,
    "LayerNormalization": _with_mean,
    "MeanVarianceNormalization": unary("MeanVarianceNormalization", axes=[1]),
    "RotaryEmbedding": with_opset(23, _rotated),
    "Shrink": unary("Shrink", 18, lambd=0.4, bias=0.1),
}
"""Operators without a converter, or with options that it does not have, which are imported as other operators."""


@pytest.mark.parametrize("kind", DEFINED)
def test_composed_functions_agree_with_onnx_runtime(kind: str) -> None:
    file = File(3)
    file.output(DEFINED[kind](file, file.conv(file.input((1, 3, 8, 6)), 4)))
    assert agreement(file.model()) <= 2e-5


@pytest.mark.parametrize(
    ("kind", "options", "shape", "expected"),
    [
        ("Add", {"broadcast": 1, "axis": 1}, (4,), lambda x, c: x + c[:, None, None]),
        ("Mul", {"broadcast": 1, "axis": 1}, (4, 8), lambda x, c: x * c[..., None]),
        ("Sub", {"broadcast": 1, "axis": -1}, (6,), lambda x, c: x - c),
        ("Div", {"broadcast": 1}, (8, 6), lambda x, c: x / c),
        ("Cast", {"to": "FLOAT"}, None, lambda x: x),
        ("Upsample", {"height_scale": 2.0, "width_scale": 3.0}, None, lambda x: x.repeat(2, 2).repeat(3, 3)),
    ],
)
def test_opsets_before_7(kind: str, options: dict[str, Any], shape: tuple[int, ...] | None, expected: Any) -> None:
    """ONNX Runtime's CPU does not run these, so NumPy is the judge."""
    from glsl_infer.graph import reference

    file = File(5, {"Cast": 5, "Upsample": 1}.get(kind, 6))
    x, constants = file.input(MAP), []
    if shape is not None:
        constants = [file.rng.uniform(0.5, 1.5, shape).astype(np.float32)]
    file.output(file.op(kind, [x, *map(file.constant, constants)], MAP, **options))
    values = file.rng.normal(size=MAP).astype(np.float32)
    imported = importer.imported(file.model(), io_options=importer.IoOptions(fits={"x": "none"}))
    (output,) = imported.outputs
    outputs = reference.run(imported.survey.whole(), {"x": imported.stored_input("x", values)}, mode="float")
    assert np.allclose(imported.file_output(output, outputs[output]), expected(values, *constants), atol=1e-6)


def test_a_definition_with_refused_operators() -> None:
    """The message names the operator of the file, not one of its definition."""
    file = File(4, 15)
    x = file.conv(file.input((1, 3, 8, 6)), 4)
    file.output(file.op("Relu", [file.op("Bernoulli", [x], MAP)], MAP))
    with pytest.raises(ModelError, match=r"^layer '[^/]*': a Bernoulli cannot be exported"):
        importer.load(file.model())


@pytest.mark.parametrize("kind", ["Swish", "SimplifiedLayerNormalization"])
def test_functions_equal_their_definitions_by_other_operators(kind: str) -> None:
    """Functions that ONNX defines by other operators equal those."""
    from glsl_infer.graph import reference

    file = File(1, 24 if kind == "Swish" else 17)
    x = file.input((1, 4, 8, 6))
    weights = [] if kind == "Swish" else [file.random(6)]
    file.output(file.op(kind, [x, *weights], MAP, **({"alpha": 1.5} if kind == "Swish" else {"axis": -1})))
    values = np.random.default_rng(0).normal(size=MAP).astype(np.float32)
    imported = importer.imported(file.model(), io_options=importer.IoOptions(fits={"x": "none"}))
    (output,) = imported.outputs
    outputs = reference.run(imported.survey.whole(), {"x": imported.stored_input("x", values)}, mode="float")
    returned = imported.file_output(output, outputs[output])
    if kind == "Swish":
        expected = values / (1.0 + np.exp(-1.5 * values))
    else:
        gamma = onnx.numpy_helper.to_array(file.constants[0])
        expected = gamma * values / np.sqrt(np.square(values).mean(axis=-1, keepdims=True) + 1e-5)
    assert np.abs(returned - expected).max() < 1e-5


def group_norm(file: File, x: str, back: str) -> str:
    """Add a group norm as PyTorch writes it: each group as one channel, then factors and offsets of the channels."""
    grouped = file.op("Reshape", [x, file.constant([0, 2, -1], "int64")], (1, 2, 96))
    ends = [file.constant([1.0, 0.5]), file.constant([0.25, 0.0])]
    normed = file.op("InstanceNormalization", [grouped, *ends], (1, 2, 96), epsilon=1e-3)
    reshaped = file.op("Reshape", [normed, back], MAP)
    scaled = file.op("Mul", [reshaped, file.random(4, 1, 1)], MAP)
    return file.op("Relu", [file.op("Add", [scaled, file.random(4, 1, 1)], MAP)], MAP)


@pytest.mark.parametrize("measured", [False, True])
def test_decomposed_pytorch_operators_are_drawn(measured: bool) -> None:
    file = File(7)
    x = file.conv(file.input((1, 3, 8, 6)), 4)
    back = file.op("Shape", [x], (4,)) if measured else file.constant([1, 4, 8, 6], "int64")
    normed = group_norm(file, x, back)
    below = file.op("Concat", [normed, x], (1, 4, 16, 6), axis=2)
    file.output(file.op("Concat", [below, below], (1, 4, 16, 12), axis=-1))
    model = file.model()
    assert agreement(model) <= 2e-5
    graph = importer.imported(model, io_options=importer.IoOptions(fits={"": "none"})).survey.whole()
    kinds = [node.op for node in graph.nodes]
    assert kinds.count("group_statistics") == 2 and kinds.count("zero_padding") == 4
    assert not [kind for kind in kinds if ops.get(kind).on_cpu]


def test_zeros_next_to_a_map_are_channels_of_zeros() -> None:
    """Zeros next to a map become channels that shaders write, as converters of BlazeFace pad channels."""
    file = File(8)
    x = file.conv(file.input((1, 3, 8, 6)), 5)
    before, after = file.constant(np.zeros((1, 2, 8, 6))), file.constant(np.zeros((1, 3, 8, 6)))
    concatenated = file.op("Concat", [before, x, after, x], (1, 15, 8, 6), axis=1)
    file.output(file.conv(concatenated, 4))
    model = file.model()
    assert agreement(model) <= 2e-5
    graph = importer.imported(model, io_options=importer.IoOptions(fits={"": "none"})).survey.whole()
    assert not [node.op for node in graph.nodes if ops.get(node.op).on_cpu]
