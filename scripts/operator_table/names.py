"""What each operator is called in Keras, TensorFlow Lite and ONNX, and where it runs."""

from __future__ import annotations

from dataclasses import dataclass

from glsl_infer import cpu, ops
from glsl_infer.ops.operator import CopyOperator
from operator_table.row import TOLERANCE

PARTS_OF_OTHERS = (
    "channel_view",
    "concat_copy",
    "convolution_products",
    "convolution_sum",
    "dense_products",
    "dense_sum",
    "input",
    "input_fixed",
    "vector_affine",
    "vector_concat",
    "vector_gather",
    "vector_map",
)
"""Operators that the compiler makes of others; nobody writes them."""


@dataclass(frozen=True)
class Names:
    """A line of the matrix: our operators and their names elsewhere, with commas between; empty for none."""

    operators: str
    keras: str
    tflite: str = ""
    onnx: str = ""

    @property
    def each(self) -> list[str]:
        """The operators, one by one."""
        return self.operators.split(", ")

    def runs(self) -> str:
        """Return where the first operator runs."""
        if self.each[0] in cpu.KERNELS:
            return "CPU"
        operator = ops.get(self.each[0])
        return "shader" if operator.has_shader or operator.staged else "folded"

    def exactness(self) -> str:
        """Return how exact the first operator is: in stored steps, or as the CPU computes."""
        if self.runs() == "CPU":
            return "float32"
        if self.runs() == "folded":
            return "-"
        return "bytes" if isinstance(ops.get(self.each[0]), CopyOperator) else str(TOLERANCE)


NAMES: tuple[Names, ...] = (
    Names("conv2d", "Conv2D, DepthwiseConv2D, SeparableConv2D", "CONV_2D, DEPTHWISE_CONV_2D", "Conv"),
    Names("conv2d, depth_to_space", "Conv2DTranspose", "TRANSPOSE_CONV", "ConvTranspose"),
    Names("dense", "Dense", "FULLY_CONNECTED", "Gemm, MatMul"),
    Names("batch_norm", "BatchNormalization", "", "BatchNormalization"),
    Names("rescaling", "Rescaling, Normalization", "MUL, ADD, NEG", "Mul, Add, Neg"),
    Names(
        "activation",
        "Activation, ReLU, LeakyReLU, PReLU, ELU, sigmoid, tanh, gelu, silu, hard_sigmoid, hard_silu, exp, log, abs, "
        "clip, square, sqrt, rsqrt, reciprocal, power",
        "RELU, RELU6, RELU_0_TO_1, LEAKY_RELU, PRELU, ELU, LOGISTIC, TANH, GELU, HARD_SWISH, EXP, LOG, ABS, SQUARE, "
        "SQRT, RSQRT, POW",
        "Relu, Clip, LeakyRelu, PRelu, Elu, Selu, Sigmoid, Tanh, Gelu, HardSigmoid, HardSwish, Exp, Log, Abs, Sqrt, "
        "Reciprocal, Pow",
    ),
    Names("add, vector_sum", "Add, add", "ADD, ADD_N", "Add, Sum"),
    Names(
        "binary, vector_binary",
        "Subtract, Multiply, divide, Maximum, Minimum",
        "SUB, MUL, DIV, SQUARED_DIFFERENCE, MAXIMUM, MINIMUM",
        "Sub, Mul, Div, Max, Min",
    ),
    Names("max_pool", "MaxPooling2D, GlobalMaxPooling2D", "MAX_POOL_2D", "MaxPool, GlobalMaxPool"),
    Names("average_pool", "AveragePooling2D", "AVERAGE_POOL_2D", "AveragePool"),
    Names("l2_pool", "", "L2_POOL_2D", "LpPool"),
    Names("global_average_pool", "GlobalAveragePooling2D", "MEAN", "GlobalAveragePool, ReduceMean"),
    Names("resize", "Resizing", "RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR", "Resize"),
    Names("resample", "", "", "Resize: cubic, smoothed, cropped"),
    Names("upsample_nearest, upsample_bilinear", "UpSampling2D", "", "Upsample"),
    Names("zero_padding, constant_padding", "ZeroPadding2D, pad", "PAD, PADV2", "Pad"),
    Names("mirror_padding", "pad", "MIRROR_PAD", "Pad"),
    Names("spatial_slice", "Cropping2D, CenterCrop, flip", "SLICE, STRIDED_SLICE", "Slice"),
    Names("channel_gather", "split", "SPLIT", "Split, Gather"),
    Names("channel_shuffle", "ChannelShuffle (ours)"),
    Names("concat", "Concatenate", "CONCATENATION", "Concat"),
    Names("depth_to_space", "depth_to_space", "DEPTH_TO_SPACE", "DepthToSpace"),
    Names("transpose", "Permute", "TRANSPOSE", "Transpose"),
    Names("flatten, flatten_rows", "Flatten", "RESHAPE", "Flatten"),
    Names("reshape", "Reshape", "RESHAPE, SQUEEZE, EXPAND_DIMS", "Reshape, Squeeze"),
    Names("identity", "Dropout, Identity", "CAST, DEQUANTIZE", "Identity, Dropout, Cast"),
    Names("softmax, vector_softmax", "Softmax", "SOFTMAX", "Softmax"),
    Names("channel_softmax", "Softmax, inside", "SOFTMAX", "Softmax"),
    Names("channel_argmax", "argmax", "ARG_MAX", "ArgMax"),
    Names("channel_norm, vector_norm", "LayerNormalization, UnitNormalization", "L2_NORMALIZATION", "LpNormalization"),
    Names("group_statistics, map_norm", "GroupNormalization", "", "InstanceNormalization, GroupNormalization"),
    Names("local_response_norm", "", "LOCAL_RESPONSE_NORMALIZATION", "LRN"),
    Names("min_pool, channel_extreme, global_deviation", "max, min, std, var", "REDUCE_MAX, REDUCE_MIN", "ReduceMax"),
    Names("matmul, einsum, attention, linear", "MultiHeadAttention, matmul", "BATCH_MATMUL", "MatMul, Einsum"),
    Names("lstm, gru, recurrent", "", "", "LSTM, GRU, RNN"),
    Names("sort, top_k, gather", "sort, top_k, take", "TOPK_V2, GATHER", "TopK, Gather"),
    Names("gather_points, gather_elements, scatter", "", "GATHER_ND", "GatherND, GatherElements, ScatterND"),
    Names("select, tensor_unary, cumulative_sum", "", "SELECT_V2, FLOOR, CUMSUM", "Where, Floor, CumSum"),
    Names("tensor_pad, grid_sample", "", "PADV2", "Pad, GridSample"),
    Names("tensor_reshape, tensor_transpose, tensor_concat, tensor_slice", "of any rank", "PACK", "Unsqueeze"),
    Names("tensor_binary, tensor_function, tensor_reduce, tensor_norm", "of any rank", "SUM, REDUCE_MAX", "ReduceSum"),
    Names("tensor_softmax, tensor_argmax", "softmax, argmax", "ARG_MAX", "ArgMax"),
    Names("non_max_suppression", "", "NON_MAX_SUPPRESSION_V4"),
    Names("class_suppression, detections", "", "TFLite_Detection_PostProcess", "NonMaxSuppression"),
    Names("psroi_align, proposals", "with `--operator`"),
)
"""The matrix, in the order of the page."""
