"""Every supported TensorFlow Lite operator, compared with LiteRT."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from test_tflite_pieces import WITHOUT_SHADER
from tflite_files import File, close

from glsl_infer.importers.tflite.operators import CUSTOM, OPERATORS

Build = Callable[[File, int], int]
"""Adds an operator to a feature map of 8x6 pixels and 4 channels. The result is a map or a vector."""

MAP = (1, 8, 6, 4)
ARITHMETIC = ("ADD", "SUB", "MUL", "DIV")
SAME, VALID = 0, 1
CONV = {"strideH": 1, "strideW": 1, "dilationHFactor": 1, "dilationWFactor": 1, "padding": VALID}


def unary(kind: str, options: dict | None = None) -> Build:
    return lambda file, x: file.op(kind, [x], MAP, options)


def with_constant(kind: str, values: object, *, first: bool = False) -> Build:
    """Return a builder of an operator on a map and a constant."""

    def build(file: File, x: int) -> int:
        operands = [file.constant(values), x] if first else [x, file.constant(values)]
        options = {kind.capitalize(): {"fusedActivationFunction": 0}} if kind in ARITHMETIC else None
        return file.op(kind, operands, MAP, options)

    return build


def with_map(kind: str, shape: tuple[int, ...] = MAP, fused: int = 0) -> Build:
    """Return a builder of an operator on two maps; the second can be broadcast."""

    def build(file: File, x: int) -> int:
        other = file.conv(x, 4)
        if shape != MAP:
            reduced = file.op(
                "MEAN", [other, file.constant([1, 2], "i4")], (1, 1, 1, 4), {"Reducer": {"keepDims": True}}
            )
            other = file.op("LOGISTIC", [reduced], (1, 1, 1, 4))
        options = {kind.capitalize(): {"fusedActivationFunction": fused}} if kind in ARITHMETIC else None
        return file.op(kind, [x, other], MAP, options)

    return build


def convolution(filters: int, kernel: int, stride: int, same: bool, fused: int = 0) -> Build:
    return lambda file, x: file.conv(x, filters, kernel, stride, same=same, fused=fused)


def grouped(file: File, x: int) -> int:
    options = {**CONV, "padding": SAME}
    return file.op("CONV_2D", [x, file.random(6, 3, 3, 2), file.random(6)], (1, 8, 6, 6), {"Conv2D": options})


def depthwise(multiplier: int, stride: int) -> Build:
    """Return a builder of a depthwise convolution."""

    def build(file: File, x: int) -> int:
        options = {"strideH": stride, "strideW": stride, "dilationHFactor": 1, "dilationWFactor": 1,
                   "padding": 0, "depthMultiplier": multiplier, "fusedActivationFunction": 3}  # fmt: skip
        weights = [file.random(1, 3, 3, 4 * multiplier), file.random(4 * multiplier)]
        shape = (1, -(-8 // stride), -(-6 // stride), 4 * multiplier)
        return file.op("DEPTHWISE_CONV_2D", [x, *weights], shape, {"DepthwiseConv2D": options})

    return build


def transposed(kernel: int, stride: int, same: bool, *, custom: bool = False) -> Build:
    """Return a builder of a transposed convolution."""

    def build(file: File, x: int) -> int:
        size = [n * stride if same else (n - 1) * stride + kernel for n in (8, 6)]
        weights = file.random(5, kernel, kernel, 4)
        if custom:
            inputs, options = [x, weights, file.random(5)], struct.pack("<3i", 1 if same else 2, stride, stride)
            return file.op("Convolution2DTransposeBias", inputs, (1, *size, 5), custom=options)
        inputs = [file.constant([1, *size, 5], "i4"), weights, x, file.random(5)]
        transpose_options = {"TransposeConv": {"padding": 0 if same else 1, "strideH": stride, "strideW": stride}}
        return file.op("TRANSPOSE_CONV", inputs, (1, *size, 5), transpose_options, version=3)

    return build


def dense(file: File, x: int) -> int:
    inputs = [x, file.random(5, 192, spread=0.05), file.random(5)]
    return file.op("FULLY_CONNECTED", inputs, (1, 5), {"FullyConnected": {"fusedActivationFunction": 1}})


def dense_of_pixels(file: File, x: int) -> int:
    options = {"FullyConnected": {"keepNumDims": True}}
    return file.op("FULLY_CONNECTED", [x, file.random(5, 4), -1], (1, 8, 6, 5), options)


def pool(kind: str, window: tuple[int, int], stride: int, same: bool) -> Build:
    """Return a builder of a pooling."""

    def build(file: File, x: int) -> int:
        size = [-(-n // stride) if same else (n - w) // stride + 1 for n, w in zip((8, 6), window)]
        options = {"filterHeight": window[0], "filterWidth": window[1], "strideH": stride, "strideW": stride,
                   "padding": 0 if same else 1, "fusedActivationFunction": 0}  # fmt: skip
        return file.op(kind, [x], (1, *size, 4), {"Pool2D": options})

    return build


def on_values_from_1_to_2(kind: str, exponent: float | None = None) -> Build:
    """Return a builder of an operation on values from 1 to 2."""

    def build(file: File, x: int) -> int:
        unit = file.op("LOGISTIC", [x], MAP)
        above = file.op("ADD", [unit, file.constant(1.0)], MAP, {"Add": {}})
        return file.op(kind, [above, *([] if exponent is None else [file.constant(exponent)])], MAP)

    return build


def inverse(file: File, x: int) -> int:
    above = file.op("ADD", [file.op("LOGISTIC", [x], MAP), file.constant(1.0)], MAP, {"Add": {}})
    return file.op("DIV", [file.constant(3.0), above], MAP, {"Div": {}})


def reduction(kind: str, axes: Sequence[int] = (1, 2), *, keep: bool = True) -> Build:
    sizes = [1 if axis in axes else size for axis, size in enumerate(MAP) if keep or axis not in axes]
    options = {"Reducer": {"keepDims": keep}}
    return lambda file, x: file.op(kind, [x, file.constant(axes, "i4")], tuple(sizes), options)


def vector_part(file: File, x: int) -> int:
    flat = file.op("RESHAPE", [x, file.constant([1, 192], "i4")], (1, 192), {"Reshape": {}})
    parts = [file.constant(values, "i4") for values in ([0, 3], [0, 20], [1, 2])]
    return file.op("STRIDED_SLICE", [flat, *parts], (1, 9), {"StridedSlice": {"beginMask": 1, "endMask": 1}})


def local_response(file: File, x: int) -> int:
    options = {"radius": 1, "alpha": 0.2, "beta": 0.75, "bias": 1.5}
    return file.op("LOCAL_RESPONSE_NORMALIZATION", [x], MAP, {"LocalResponseNormalization": options})


def of_booleans(kind: str) -> Build:
    """Return a builder of a reduction of comparisons along the channels."""

    def build(file: File, x: int) -> int:
        above = file.op("GREATER", [x, file.constant(0.1)], MAP, {"Greater": {}}, type_="BOOL")
        options = {"Reducer": {"keepDims": True}}
        result = file.op(kind, [above, file.constant([3], "i4")], (1, 8, 6, 1), options, type_="BOOL")
        return file.op("CAST", [result], (1, 8, 6, 1), {"Cast": {"inDataType": 6, "outDataType": 0}})

    return build


def padded(kind: str, around: list, shape: tuple[int, ...], value: float | None = None, mode: int = 0) -> Build:
    """Return a builder of a padding."""

    def build(file: File, x: int) -> int:
        inputs = [x, file.constant(around, "i4"), *([] if value is None else [file.constant(value)])]
        options = {"MirrorPad": {"mode": mode}} if kind == "MIRROR_PAD" else None
        return file.op(kind, inputs, shape, options)

    return build


def resized(kind: str, size: tuple[int, int], corners: bool, centers: bool) -> Build:
    options = {"ResizeBilinear" if kind == "RESIZE_BILINEAR" else "ResizeNearestNeighbor": {
        "alignCorners": corners, "halfPixelCenters": centers}}  # fmt: skip
    return lambda file, x: file.op(kind, [x, file.constant(size, "i4")], (1, *size, 4), options, version=3)


def strided(begin: list[int], end: list[int], step: list[int], shape: tuple[int, ...], **masks: int) -> Build:
    """Return a builder of a slice with strides."""

    def build(file: File, x: int) -> int:
        parts = [file.constant(values, "i4") for values in (begin, end, step)]
        names = {"beginMask": 0, "endMask": 0, "ellipsisMask": 0, "newAxisMask": 0, "shrinkAxisMask": 0, **masks}
        return file.op("STRIDED_SLICE", [x, *parts], shape, {"StridedSlice": names})

    return build


def sliced(file: File, x: int) -> int:
    return file.op("SLICE", [x, file.constant([0, 1, 0, 1], "i4"), file.constant([1, 5, -1, 2], "i4")], (1, 5, 6, 2))


def repeated(kind: str, axis: int, count: int) -> Build:
    """Return a builder of repeated pixels, as the converter writes Keras' UpSampling2D."""

    def build(file: File, x: int) -> int:
        expanded_shape, tiled_shape, shape = [*MAP], [*MAP], [*MAP]
        expanded_shape.insert(axis, 1)
        tiled_shape.insert(axis, count)
        shape[axis - 1] *= count
        expanded = file.op("EXPAND_DIMS", [x, file.constant(axis, "i4")], tuple(expanded_shape))
        counts = [count if index == axis else 1 for index in range(5)] if kind == "TILE" else tiled_shape
        version = 1 if kind == "TILE" else 2
        tiled = file.op(kind, [expanded, file.constant(counts, "i4")], tuple(tiled_shape), version=version)
        return file.op("RESHAPE", [tiled, file.constant(shape, "i4")], tuple(shape))

    return build


def dilated_by_batch(file: File, x: int) -> int:
    """Add a dilated convolution between two changes of the batch, as the converter writes some dilations."""
    block = file.constant([2, 2], "i4")
    phases = file.op("SPACE_TO_BATCH_ND", [x, block, file.constant([[2, 2], [2, 2]], "i4")], (4, 6, 5, 4))
    inner = file.op("CONV_2D", [phases, file.random(5, 3, 3, 4), file.random(5)], (4, 4, 3, 5), {"Conv2D": CONV})
    return file.op("BATCH_TO_SPACE_ND", [inner, block, file.constant([[0, 0], [0, 0]], "i4")], (1, 8, 6, 5))


def dilated_kernel(file: File, x: int) -> int:
    options = {**CONV, "dilationHFactor": 2, "padding": SAME}
    return file.op("CONV_2D", [x, file.random(5, 3, 3, 4), file.random(5)], (1, 8, 6, 5), {"Conv2D": options})


def blocks(kind: str, shape: tuple[int, ...], options: str) -> Build:
    return lambda file, x: file.op(kind, [x], shape, {options: {"blockSize": 2}})


def split(kind: str) -> Build:
    """Return a builder of a split, and of a concatenation of two of its parts."""

    def build(file: File, x: int) -> int:
        wide = file.conv(x, 12)
        if kind == "SPLIT":
            parts = [file.tensor((1, 8, 6, 4)) for _ in range(3)]
            file.several(kind, [file.constant(3, "i4"), wide], parts, {"Split": {"numSplits": 3}})
        else:
            parts = [file.tensor((1, 8, 6, count)) for count in (4, 6, 2)]
            inputs = [wide, file.constant([4, -1, 2], "i4"), file.constant(-1, "i4")]
            file.several(kind, inputs, parts, {"SplitV": {"numSplits": 3}})
        return file.op("CONCATENATION", [parts[2], parts[0]], (1, 8, 6, file.shape(parts[2])[3] + 4),
                       {"Concatenation": {"axis": 3}})  # fmt: skip

    return build


def prelu(*slopes: int) -> Build:
    return lambda file, x: file.op("PRELU", [x, file.random(*slopes)], MAP)


def concatenation(file: File, x: int) -> int:
    parts = [x, file.conv(x, 3), file.conv(x, 2)]
    return file.op("CONCATENATION", parts, (1, 8, 6, 9), {"Concatenation": {"axis": -1}})


def sum_of_three(file: File, x: int) -> int:
    return file.op("ADD_N", [x, file.conv(x, 4), file.conv(x, 4)], MAP, {"AddN": {}})


def half_precision(file: File, x: int) -> int:
    """Add 16-bit weights as the converter writes them: constants read by a DEQUANTIZE."""
    kernel = file.constant(file.rng.normal(0, 0.4, (4, 1, 1, 4)), "f2")
    wide = file.op("DEQUANTIZE", [kernel], (4, 1, 1, 4), {"Dequantize": {}})
    return file.op("CONV_2D", [x, wide, file.random(4)], MAP, {"Conv2D": CONV}, version=2)


def reshaped(kind: str, shape: tuple[int, ...]) -> Build:
    """Return a builder of an operator on the shape of a mean of the map."""

    def build(file: File, x: int) -> int:
        mean = file.op("MEAN", [x, file.constant([1, 2], "i4")], (1, 1, 1, 4), {"Reducer": {"keepDims": True}})
        if kind == "SQUEEZE":
            return file.op(kind, [mean], shape, {"Squeeze": {"squeezeDims": [1, 2]}})
        if kind == "EXPAND_DIMS":
            flat = file.op("RESHAPE", [mean, file.constant([1, 1, 4], "i4")], (1, 1, 4), {"Reshape": {}})
            return file.op(kind, [flat, file.constant(1, "i4")], shape)
        target = file.constant([0, 3, 1, 2] if kind == "TRANSPOSE" else shape, "i4")
        return file.op(kind, [mean, target], shape)

    return build


def computed_shape(file: File, x: int) -> int:
    """Add a reshape to the result of SHAPE, STRIDED_SLICE and PACK: Keras' Flatten for a free batch."""
    shape = file.op("SHAPE", [x], (4,), {"Shape": {"outType": 2}}, type_="INT32")
    parts = [file.constant([value], "i4") for value in (0, 1, 1)]
    first = file.op("STRIDED_SLICE", [shape, *parts], (), {"StridedSlice": {"shrinkAxisMask": 1}}, type_="INT32")
    pack = file.op("PACK", [first, file.constant(192, "i4")], (2,), {"Pack": {"valuesCount": 2}}, type_="INT32")
    return file.op("RESHAPE", [x, pack], (1, 192), {"Reshape": {}})


def cast(file: File, x: int) -> int:
    return file.op("CAST", [x], MAP, {"Cast": {"inDataType": 0, "outDataType": 0}})


def quantized(file: File, x: int) -> int:
    """Add a conversion to integers and back. The graph omits its rounding, so the step is tiny."""
    stored = file.quantize(file.op("QUANTIZE", [x], MAP, {"Quantize": {}}, type_="INT16"), 1e-3)
    return file.op("DEQUANTIZE", [stored], MAP, {"Dequantize": {}})


def indexed(kind: str, shape: tuple[int, ...], operand: object, axis: int | None = None) -> Build:
    options = None if axis is None else {"Gather": {"axis": axis}}
    return lambda file, x: file.op(kind, [x, file.constant(operand, "i4")], shape, options)


def pixel_of_all(kind: str, operand: list[int]) -> Build:
    """Return a builder of the mean of all pixels, repeated at each pixel."""

    def build(file: File, x: int) -> int:
        mean = file.op("MEAN", [x, file.constant([1, 2], "i4")], (1, 1, 1, 4), {"Reducer": {"keepDims": True}})
        return file.op(kind, [mean, file.constant(operand, "i4")], MAP, version=2 if kind == "BROADCAST_TO" else 1)

    return build


CASES: dict[str, list[Build]] = {
    "ABS": [unary("ABS")],
    "ADD": [with_map("ADD"), with_map("ADD", (1, 1, 1, 4), 1), with_constant("ADD", [1.0, -2.0, 0.5, 3.0])],
    "ADD_N": [sum_of_three],
    "AVERAGE_POOL_2D": [pool("AVERAGE_POOL_2D", (2, 2), 2, False), pool("AVERAGE_POOL_2D", (3, 3), 2, True),
                        pool("AVERAGE_POOL_2D", (8, 6), 8, False)],
    "BROADCAST_TO": [pixel_of_all("BROADCAST_TO", [1, 8, 6, 4]), repeated("BROADCAST_TO", 2, 2)],
    "CAST": [cast],
    "CONCATENATION": [concatenation],
    "Convolution2DTransposeBias": [transposed(2, 2, True, custom=True)],
    "CONV_2D": [convolution(5, 3, 1, True), convolution(4, 3, 2, True, 1), convolution(4, 1, 1, False, 2),
                convolution(8, 5, 2, False, 3), grouped, dilated_by_batch, dilated_kernel],
    "COS": [unary("COS", {"Cos": {}})],
    "DEPTHWISE_CONV_2D": [depthwise(1, 1), depthwise(2, 2)],
    "DEPTH_TO_SPACE": [blocks("DEPTH_TO_SPACE", (1, 16, 12, 1), "DepthToSpace")],
    "DEQUANTIZE": [half_precision],
    "DIV": [with_constant("DIV", 3.0), inverse],
    "ELU": [unary("ELU")],
    "EXP": [unary("EXP")],
    "EXPAND_DIMS": [reshaped("EXPAND_DIMS", (1, 1, 1, 4))],
    "FULLY_CONNECTED": [dense, dense_of_pixels],
    "GATHER": [indexed("GATHER", (1, 8, 6, 3), [3, 0, 0], 3), indexed("GATHER", (1, 3, 6, 4), [1, 3, 5], 1),
               indexed("GATHER", (1, 8, 3, 4), [4, 0, 1], 2)],
    "GELU": [unary("GELU", {"Gelu": {"approximate": False}}), unary("GELU", {"Gelu": {"approximate": True}})],
    "HARD_SWISH": [unary("HARD_SWISH")],
    "L2_NORMALIZATION": [unary("L2_NORMALIZATION", {"L2Norm": {}})],
    "L2_POOL_2D": [pool("L2_POOL_2D", (2, 2), 2, False)],
    "LEAKY_RELU": [unary("LEAKY_RELU", {"LeakyRelu": {"alpha": 0.3}})],
    "LOCAL_RESPONSE_NORMALIZATION": [local_response],
    "LOG": [on_values_from_1_to_2("LOG")],
    "LOGISTIC": [unary("LOGISTIC")],
    "LOG_SOFTMAX": [unary("LOG_SOFTMAX", {"LogSoftmax": {}})],
    "MAXIMUM": [with_map("MAXIMUM"), with_constant("MAXIMUM", 0.0), with_constant("MAXIMUM", 0.25)],
    "MAX_POOL_2D": [pool("MAX_POOL_2D", (2, 2), 2, False), pool("MAX_POOL_2D", (3, 3), 2, True)],
    "MEAN": [reduction("MEAN"), reduction("MEAN", keep=False), reduction("MEAN", [2]), reduction("MEAN", [1, 2, 3])],
    "MINIMUM": [with_map("MINIMUM"), with_constant("MINIMUM", 0.25), with_constant("MINIMUM", [1.0, -2.0, 0.5, 3.0])],
    "MIRROR_PAD": [padded("MIRROR_PAD", [[0, 0], [2, 1], [1, 3], [0, 0]], (1, 11, 10, 4), mode=0),
                   padded("MIRROR_PAD", [[0, 0], [2, 1], [1, 3], [0, 0]], (1, 11, 10, 4), mode=1)],
    "MUL": [with_map("MUL"), with_map("MUL", (1, 1, 1, 4)), with_constant("MUL", -2.0)],
    "NEG": [unary("NEG")],
    "PAD": [padded("PAD", [[0, 0], [1, 2], [0, 1], [0, 0]], (1, 11, 7, 4)),
            padded("PAD", [[0, 0], [0, 0], [0, 0], [0, 4]], (1, 8, 6, 8)),
            padded("PAD", [[0, 0], [0, 0], [0, 0], [3, 3]], (1, 8, 6, 10)),
            padded("PAD", [[0, 0], [1, 0], [0, 0], [3, 6]], (1, 9, 6, 13))],
    "PADV2": [padded("PADV2", [[0, 0], [1, 2], [0, 1], [0, 0]], (1, 11, 7, 4), -1.5),
              padded("PADV2", [[0, 0], [0, 0], [0, 1], [0, 2]], (1, 8, 7, 6), 0.0)],
    "POW": [on_values_from_1_to_2("POW", 1.7)],
    "PRELU": [prelu(1, 1, 4), prelu(8, 6, 4), prelu(8, 1, 4)],
    "QUANTIZE": [quantized],
    **{kind: [of_booleans(kind)] for kind in ("REDUCE_ALL", "REDUCE_ANY")},
    "REDUCE_MAX": [reduction("REDUCE_MAX"), reduction("REDUCE_MAX", keep=False), reduction("REDUCE_MAX", [3])],
    "REDUCE_MIN": [reduction("REDUCE_MIN"), reduction("REDUCE_MIN", [1, 3])],
    "REDUCE_PROD": [reduction("REDUCE_PROD"), reduction("REDUCE_PROD", [3])],
    "RELU": [unary("RELU")],
    "RELU6": [unary("RELU6")],
    "RELU_0_TO_1": [unary("RELU_0_TO_1")],
    "RELU_N1_TO_1": [unary("RELU_N1_TO_1")],
    "RESHAPE": [reshaped("RESHAPE", (1, 4)), computed_shape],
    "RESIZE_BILINEAR": [resized("RESIZE_BILINEAR", (16, 12), False, True),
                        resized("RESIZE_BILINEAR", (11, 5), False, True),
                        resized("RESIZE_BILINEAR", (15, 11), True, False),
                        resized("RESIZE_BILINEAR", (12, 9), False, False)],
    "RESIZE_NEAREST_NEIGHBOR": [resized("RESIZE_NEAREST_NEIGHBOR", (16, 12), False, False),
                                resized("RESIZE_NEAREST_NEIGHBOR", (11, 5), False, True),
                                resized("RESIZE_NEAREST_NEIGHBOR", (13, 9), True, False)],
    "REVERSE_V2": [indexed("REVERSE_V2", MAP, [2])],
    "RSQRT": [on_values_from_1_to_2("RSQRT")],
    "SIN": [unary("SIN")],
    "SLICE": [sliced],
    "SOFTMAX": [unary("SOFTMAX", {"Softmax": {"beta": 1.0}}), unary("SOFTMAX", {"Softmax": {"beta": 0.5}})],
    "SPACE_TO_DEPTH": [blocks("SPACE_TO_DEPTH", (1, 4, 3, 16), "SpaceToDepth")],
    "SPLIT": [split("SPLIT")],
    "SPLIT_V": [split("SPLIT_V")],
    "SQRT": [on_values_from_1_to_2("SQRT")],
    "SQUARE": [unary("SQUARE")],
    "SQUARED_DIFFERENCE": [with_map("SQUARED_DIFFERENCE")],
    "SQUEEZE": [reshaped("SQUEEZE", (1, 4))],
    "STRIDED_SLICE": [strided([0, 1, 0, 0], [1, 8, 6, 3], [1, 2, 1, 1], (1, 4, 6, 3)),
                      strided([0, 0, -1, 0], [0, 0, 0, 4], [1, 3, -1, 1], (1, 3, 6, 4), beginMask=1, endMask=7),
                      vector_part],
    "SUB": [with_map("SUB"), with_constant("SUB", 0.5), with_constant("SUB", 0.5, first=True)],
    "SUM": [reduction("SUM"), reduction("SUM", keep=False), reduction("SUM", [3]), reduction("SUM", [1, 3])],
    "TANH": [unary("TANH")],
    "TILE": [pixel_of_all("TILE", [1, 8, 6, 1]), repeated("TILE", 2, 3), repeated("TILE", 3, 2)],
    "TRANSPOSE": [reshaped("TRANSPOSE", (1, 4, 1, 1)),
                  lambda file, x: file.op("TRANSPOSE", [x, file.constant([0, 2, 1, 3], "i4")], (1, 6, 8, 4))],
    "TRANSPOSE_CONV": [transposed(2, 2, True), transposed(3, 2, True), transposed(4, 2, False), transposed(3, 1, True)],
}  # fmt: skip


def test_every_operator_has_a_case() -> None:
    elsewhere = {"TFLite_Detection_PostProcess", *WITHOUT_SHADER}  # test_tflite_pieces tests them
    assert set(CASES) == {*OPERATORS, *CUSTOM} - elsewhere


@pytest.mark.parametrize("kind", CASES)
def test_operators_agree_with_litert(kind: str) -> None:
    for seed, build in enumerate(CASES[kind]):
        file = File(seed)
        x = file.conv(file.input((1, 8, 6, 3)), 4)
        tolerance = 1e-3 if kind == "QUANTIZE" else 1e-5
        graph = close(file.bytes([build(file, x)]), seed=seed, tolerance=tolerance)
        assert graph.inputs[0].attrs["shape"] == (8, 6, 3)


def test_functions_in_pieces_become_activations() -> None:
    """``x * sigmoid(x)``, ``x * relu6(x + 3) / 6`` in two orders, and ``relu6(x + 3) / 6`` are fused."""
    file = File()
    x = file.conv(file.input(), 4)
    shape = (1, 8, 8, 4)
    swish = file.op("MUL", [x, file.op("LOGISTIC", [x], shape)], shape, {"Mul": {}})
    six = file.op("RELU6", [file.op("ADD", [swish, file.constant(3.0)], shape, {"Add": {}})], shape)
    scaled = file.op(
        "MUL", [file.op("MUL", [swish, six], shape, {"Mul": {}}), file.constant(1 / 6)], shape, {"Mul": {}}
    )
    six = file.op("RELU6", [file.op("ADD", [scaled, file.constant(3.0)], shape, {"Add": {}})], shape)
    gate = file.op("MUL", [six, file.constant(1 / 6)], shape, {"Mul": {}})
    gated = file.op("MUL", [gate, scaled], shape, {"Mul": {}})
    graph = close(file.bytes([gated]))
    assert [node.attrs.get("function", node.op) for node in graph.nodes] == [
        "input", "conv2d", "silu", "hard_silu", "hard_silu"
    ]  # fmt: skip


def test_endings_become_host_steps() -> None:
    """Two maps become concatenated rows with a sigmoid, and a third output is the index of the largest channel."""
    file = File()
    x = file.conv(file.input(), 4)
    rows = [file.op("RESHAPE", [file.conv(x, 6, stride=stride), file.constant([1, -1, 2], "i4")],
                    (1, count, 2), {"Reshape": {}}) for stride, count in ((1, 192), (2, 48))]  # fmt: skip
    boxes = file.op("CONCATENATION", rows, (1, 240, 2), {"Concatenation": {"axis": 1}})
    scores = file.op("LOGISTIC", [boxes], (1, 240, 2), name="scores")
    mask = file.op("ARG_MAX", [x, file.constant(-1, "i4")], (1, 8, 8), {"ArgMax": {"outputType": 2}}, type_="INT32")
    unit = file.op("L2_NORMALIZATION", [file.op("RESHAPE", [x, file.constant([1, 256], "i4")], (1, 256))], (1, 256))
    graph = close(file.bytes([scores, boxes, mask, unit]))
    assert [[step.step for step in output.steps] for output in graph.outputs] == [
        ["rows", "concatenate", "sigmoid"], ["rows", "concatenate"], ["argmax"], ["l2-normalize"],
    ]  # fmt: skip
    assert graph.outputs[0].name == "scores"


def test_operators_on_vectors_agree_with_litert() -> None:
    file = File()
    x = file.input((1, 6), name="numbers")
    y = file.op("FULLY_CONNECTED", [x, file.random(5, 6), -1], (1, 5), {"FullyConnected": {}})
    graph = close(file.bytes([y]))
    assert graph.inputs[0].op == "input_fixed"
    assert np.prod(graph.shapes[graph.output]) == 5
