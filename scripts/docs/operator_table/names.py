"""Names of each operator in TensorFlow Lite and ONNX files, and the processor it runs on."""

from __future__ import annotations

from dataclasses import dataclass

from glsl_infer import cpu, ops
from glsl_infer.importers.onnx import operators as onnx
from glsl_infer.importers.tflite import operators as tflite
from glsl_infer.importers.tflite import tensors
from glsl_infer.importers.tflite.rewrites import PLACES
from glsl_infer.ops.operator import CopyOperator
from operator_table.row import TOLERANCE

FORMATS = {
    "TensorFlow Lite": {*tflite.OPERATORS, *tflite.CUSTOM, *tensors.TENSORS} - {PLACES},
    "ONNX": {*onnx.OPERATORS},
}
"""Operators that the importers of files convert."""

PARTS_OF_OTHERS = (
    "channel_view",
    "concat_copy",
    "constant_map",
    "convolution_products",
    "convolution_sum",
    "dense_at_once",
    "dense_of_sums",
    "dense_products",
    "dense_sum",
    "gated_convolution",
    "gated_sum",
    "input",
    "input_fixed",
    "mean_products",
    "vector_affine",
    "vector_concat",
    "vector_gather",
    "vector_map",
)
"""Operators created only by the compiler, from others."""


@dataclass(frozen=True)
class Names:
    """A line of the matrix: our operators and their names in other formats, separated by commas; empty for none."""

    operators: str
    tflite: str = ""
    onnx: str = ""

    @property
    def each(self) -> list[str]:
        """The operators, one by one."""
        return self.operators.split(", ")

    def runs(self) -> str:
        """Return the processor of the first operator."""
        if self.each[0] in cpu.KERNELS:
            return "CPU"
        operator = ops.get(self.each[0])
        return "shader" if operator.has_shader or operator.staged else "folded"

    def exactness(self) -> str:
        """Return the exactness of the first operator: a bound in stored steps, or the CPU's number format."""
        if self.runs() == "CPU":
            return "float32"
        if self.runs() == "folded":
            return "-"
        return "bytes" if isinstance(ops.get(self.each[0]), CopyOperator) else str(TOLERANCE)


NAMES: tuple[Names, ...] = (
    Names("conv2d", "CONV_2D, DEPTHWISE_CONV_2D", "Conv"),
    Names("conv2d, depth_to_space", "TRANSPOSE_CONV", "ConvTranspose"),
    Names("dense", "FULLY_CONNECTED", "Gemm, MatMul"),
    Names(
        "activation",
        "RELU, RELU6, RELU_0_TO_1, LEAKY_RELU, PRELU, ELU, LOGISTIC, TANH, GELU, HARD_SWISH, EXP, LOG, ABS, SQUARE, "
        "SQRT, RSQRT, POW",
        "Relu, Clip, LeakyRelu, PRelu, Elu, Selu, Sigmoid, Tanh, Gelu, HardSigmoid, HardSwish, Exp, Log, Abs, Sqrt, "
        "Reciprocal, Pow",
    ),
    Names("add, vector_sum", "ADD, ADD_N", "Add, Sum"),
    Names("binary, vector_binary", "SUB, MUL, DIV, SQUARED_DIFFERENCE, MAXIMUM, MINIMUM", "Sub, Mul, Div, Max, Min"),
    Names("max_pool", "MAX_POOL_2D", "MaxPool, GlobalMaxPool"),
    Names("average_pool", "AVERAGE_POOL_2D", "AveragePool"),
    Names("l2_pool", "L2_POOL_2D", "LpPool"),
    Names("global_average_pool", "MEAN", "GlobalAveragePool, ReduceMean"),
    Names("resize", "RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR", "Resize"),
    Names("resample", "", "Resize: cubic, smoothed, cropped"),
    Names("upsample_nearest, upsample_bilinear", "", "Upsample"),
    Names("zero_padding, constant_padding, mirror_padding", "PAD, PADV2, MIRROR_PAD", "Pad"),
    Names("spatial_slice", "SLICE, STRIDED_SLICE", "Slice"),
    Names("channel_gather", "SPLIT", "Split, Gather"),
    Names("channel_shuffle"),
    Names("concat", "CONCATENATION", "Concat"),
    Names("depth_to_space", "DEPTH_TO_SPACE", "DepthToSpace"),
    Names("transpose", "TRANSPOSE", "Transpose"),
    Names("flatten, flatten_rows", "RESHAPE", "Flatten"),
    Names(
        "reshape, batch_norm, rescaling, identity, softmax, local_response_norm",
        "RESHAPE, SQUEEZE, EXPAND_DIMS, MUL, ADD, NEG, CAST, DEQUANTIZE, SOFTMAX, LOCAL_RESPONSE_NORMALIZATION",
        "Reshape, Squeeze, BatchNormalization, Mul, Add, Neg, Identity, Dropout, Cast, Softmax, LRN",
    ),
    Names("channel_softmax, vector_softmax", "SOFTMAX", "Softmax"),
    Names("channel_argmax", "ARG_MAX", "ArgMax"),
    Names("channel_norm, vector_norm", "L2_NORMALIZATION", "LpNormalization"),
    Names("group_statistics, map_norm", "", "InstanceNormalization, GroupNormalization"),
    Names("min_pool, channel_extreme, global_deviation", "REDUCE_MAX, REDUCE_MIN", "ReduceMax"),
    Names("matmul, einsum, attention, linear", "BATCH_MATMUL", "MatMul, Einsum"),
    Names("lstm, gru, recurrent", "", "LSTM, GRU, RNN"),
    Names(
        "sort, top_k, gather, gather_points, gather_elements, scatter",
        "TOPK_V2, GATHER, GATHER_ND",
        "TopK, Gather, GatherND, GatherElements, ScatterND",
    ),
    Names(
        "select, cumulative_sum, grid_sample, tensor_unary, tensor_pad, tensor_reshape, tensor_transpose, "
        "tensor_concat, tensor_slice, tensor_binary, tensor_function, tensor_reduce, tensor_norm, tensor_softmax, "
        "tensor_argmax",
        "SELECT_V2, CUMSUM, FLOOR, PADV2, PACK, SUM, REDUCE_MAX, ARG_MAX",
        "Where, CumSum, GridSample, Floor, Pad, Unsqueeze, ReduceSum, ArgMax",
    ),
    Names(
        "non_max_suppression, class_suppression, detections",
        "NON_MAX_SUPPRESSION_V4, TFLite_Detection_PostProcess",
        "NonMaxSuppression",
    ),
    Names("psroi_align, proposals"),
)
"""The matrix, in the order of the page."""
