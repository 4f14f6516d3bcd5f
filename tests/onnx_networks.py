"""ONNX files built with ``onnx.helper``: single operators, and random networks of many operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import needs
import numpy as np

onnx = needs.module("onnx")
needs.module("onnxruntime")
helper, numpy_helper, TensorProto = onnx.helper, onnx.numpy_helper, onnx.TensorProto

NEWEST = 23
"""The newest opset in tests, which ONNX Runtime, the reference, also supports."""

IR_VERSION = 10


class File:
    """Builder of an ONNX file. Tensors have names and known shapes.

    Args:
        seed: seed of all random values.
        opset: opset of the file.
    """

    def __init__(self, seed: int, opset: int = 17) -> None:
        self.rng = np.random.default_rng(seed)
        self.opset = opset
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._count = 0

    def input(self, shape: Sequence[Any], name: str = "x") -> str:
        """Add an input; a string is a dynamic size (1 for the batch)."""
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        self.shapes[name] = tuple(1 if isinstance(size, str) else size for size in shape)
        return name

    def constant(self, values: Any, kind: str = "float32") -> str:
        """Add a constant."""
        name = self._name("c")
        self.constants.append(numpy_helper.from_array(np.asarray(values).astype(kind), name))
        return name

    def random(self, *shape: int, spread: float = 0.5) -> str:
        """Add a constant of random values."""
        return self.constant(self.rng.normal(0.0, spread, shape))

    def op(self, kind: str, inputs: Sequence[str], shape: Sequence[int], domain: str = "", **attributes: Any) -> str:
        """Add an operator with one output of the given shape."""
        return self.several(kind, inputs, [shape], domain, **attributes)[0]

    def several(
        self, kind: str, inputs: Sequence[str], shapes: Sequence[Sequence[int]], domain: str = "", **attributes: Any
    ) -> list[str]:
        """Add an operator with several outputs."""
        names = [self._name(kind.lower()) for _ in shapes]
        self.nodes.append(helper.make_node(kind, list(inputs), names, domain=domain, **attributes))
        self.shapes.update((name, tuple(shape)) for name, shape in zip(names, shapes))
        return names

    def output(self, name: str) -> None:
        """Make a tensor an output."""
        self.outputs.append(onnx.ValueInfoProto(name=name))

    def model(self) -> Any:
        """Return the ``onnx.ModelProto``."""
        graph = helper.make_graph(self.nodes, "made", self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}-{self._count}"

    # Operators with another form in older opsets.

    def axes(self, kind: str, x: str, axes: Sequence[int], shape: Sequence[int], since: int = 13, **more: Any) -> str:
        """Add an operator whose axes are an attribute before the opset ``since``, and an input from then on."""
        if self.opset < since:
            return self.op(kind, [x], shape, axes=list(axes), **more)
        return self.op(kind, [x, self.constant(axes, "int64")], shape, **more)

    def clip(self, x: str, low: float | None, high: float | None) -> str:
        """Add a Clip."""
        if self.opset < 11:
            ends = {name: value for name, value in (("min", low), ("max", high)) if value is not None}
            return self.op("Clip", [x], self.shapes[x], **ends)
        ends_ = ["" if value is None else self.constant(value) for value in (low, high)]
        return self.op("Clip", [x, *ends_], self.shapes[x])

    def pad(self, x: str, pads: Sequence[int], mode: str = "constant", value: float = 0.0) -> str:
        """Add a Pad."""
        rank = len(pads) // 2
        shape = [size + pads[axis] + pads[axis + rank] for axis, size in enumerate(self.shapes[x])]
        if self.opset < 11:
            return self.op("Pad", [x], shape, pads=list(pads), mode=mode, value=value)
        return self.op("Pad", [x, self.constant(pads, "int64"), self.constant(value)], shape, mode=mode)

    def slice(self, x: str, axis: int, span: range) -> str:
        """Add a Slice along an axis."""
        shape = list(self.shapes[x])
        shape[axis] = len(span)
        end = span.stop if span.step > 0 or span.stop >= 0 else -(2**31)
        if self.opset < 10:
            return self.op("Slice", [x], shape, starts=[span.start], ends=[end], axes=[axis])
        bounds = [self.constant([bound], "int64") for bound in (span.start, end, axis, span.step)]
        return self.op("Slice", [x, *bounds], shape)

    def split(self, x: str, axis: int, sizes: Sequence[int]) -> list[str]:
        """Add a Split."""
        shapes = [[size if index == axis else n for index, n in enumerate(self.shapes[x])] for size in sizes]
        if self.opset < 13:
            return self.several("Split", [x], shapes, axis=axis, split=list(sizes))
        return self.several("Split", [x, self.constant(sizes, "int64")], shapes, axis=axis)

    def reshape(self, x: str, shape: Sequence[int]) -> str:
        """Add a Reshape."""
        inferred = np.empty(self.shapes[x], np.bool_).reshape(shape).shape
        return self.op("Reshape", [x, self.constant(shape, "int64")], inferred)

    def transpose(self, x: str, order: Sequence[int]) -> str:
        """Add a Transpose."""
        return self.op("Transpose", [x], [self.shapes[x][axis] for axis in order], perm=list(order))

    def resize(self, x: str, factors: tuple[int, int], mode: str = "nearest", **attributes: Any) -> str:
        """Add a Resize by integer factors, or an Upsample in older opsets."""
        batch, channels, height, width = self.shapes[x]
        shape = (batch, channels, height * factors[0], width * factors[1])
        scales = [1.0, 1.0, float(factors[0]), float(factors[1])]
        if self.opset < 9:
            return self.op("Upsample", [x], shape, mode=mode, scales=scales)
        if self.opset < 11:
            kind = "Upsample" if self.opset < 10 else "Resize"
            return self.op(kind, [x, self.constant(scales)], shape, mode=mode)
        empty = self.constant(np.zeros(0))
        return self.op("Resize", [x, empty, self.constant(scales)], shape, mode=mode, **attributes)

    def conv(self, x: str, filters: int, kernel: int = 3, stride: int = 1, groups: int = 1, dilation: int = 1) -> str:
        """Add a convolution that keeps the size, divided by the stride."""
        batch, channels, height, width = self.shapes[x]
        around = dilation * (kernel - 1) // 2
        size = [(n + 2 * around - dilation * (kernel - 1) - 1) // stride + 1 for n in (height, width)]
        fan = kernel * kernel * channels // groups
        weights = [self.random(filters, channels // groups, kernel, kernel, spread=fan**-0.5), self.random(filters)]
        return self.op("Conv", [x, *weights], (batch, filters, *size), pads=[around] * 4, strides=[stride] * 2,
                       group=groups, dilations=[dilation] * 2, kernel_shape=[kernel] * 2)  # fmt: skip


Block = Callable[[File, str], str]
"""A function from a map to a map."""


def _pick(file: File, *choices: Any) -> Any:
    return choices[int(file.rng.integers(len(choices)))]


def _same(kind: str, since: int = 7, **attributes: Any) -> Block:
    def block(file: File, x: str) -> str:
        return file.op(kind if file.opset >= since else "Relu", [x], file.shapes[x],
                       **(attributes if file.opset >= since else {}))  # fmt: skip

    return block


def convolution(file: File, x: str) -> str:
    """Add a convolution with random options."""
    groups = _pick(file, 1, 1, 2, file.shapes[x][1])
    groups = groups if file.shapes[x][1] % groups == 0 else 1
    filters = groups * _pick(file, 1, 2) if groups > 1 else _pick(file, 3, 6, 8)
    return file.conv(x, filters, _pick(file, 1, 3, 3, 5), _pick(file, 1, 1, 2), groups, _pick(file, 1, 1, 2))


def batch_norm(file: File, x: str) -> str:
    """Add a batch normalisation after a convolution."""
    x = file.conv(x, 6)
    weights = [file.random(6), file.random(6), file.random(6), file.constant(file.rng.uniform(0.5, 2.0, 6))]
    return file.op("BatchNormalization", [x, *weights], file.shapes[x], epsilon=1e-4)


def factors(file: File, x: str) -> str:
    """Add an operation with a constant of any broadcastable shape."""
    _, channels, height, width = file.shapes[x]
    shape = _pick(file, (1,), (channels, 1, 1), (1, channels, 1, 1), (), (1, 1, height, width), (height, 1))
    other = file.constant(file.rng.uniform(0.5, 1.5, shape))
    kind = _pick(file, "Mul", "Add", "Sub", "Div", *(("Max", "Min") if file.opset >= 8 else ()))  # 7 cannot broadcast
    first = kind in ("Mul", "Add", "Sub") and _pick(file, True, False)
    return file.op(kind, [other, x] if first else [x, other], file.shapes[x])


def residual(file: File, x: str) -> str:
    """Add a sum, product or extreme of two maps."""
    y = file.conv(x, file.shapes[x][1])
    return file.op(_pick(file, "Add", "Mul", "Sub", "Max", "Min", "Sum"), [x, y], file.shapes[x])


def activated(file: File, x: str) -> str:
    """Add an elementwise function."""
    channels = file.shapes[x][1]
    simple = ["Relu", "Sigmoid", "Tanh", "Abs", "Softplus", "Softsign", "Elu", "Selu", "LeakyRelu", "HardSigmoid",
              "Neg", "ThresholdedRelu"]  # fmt: skip
    newer = [("HardSwish", 14), ("Mish", 18), ("Gelu", 20), ("Celu", 12), ("Shrink", 9)]
    kinds = [*simple, *(kind for kind, since in newer if file.opset >= since), "PRelu", "Clip", "Clip"]
    kind = _pick(file, *kinds)
    if kind == "Clip":
        return file.clip(x, *_pick(file, (0.0, 6.0), (-0.5, 0.5), (0.0, None), (None, 0.75), (-1.0, None)))
    if kind == "PRelu":
        shape = _pick(file, (channels, 1, 1), (1,), (1, *file.shapes[x][2:]))
        return file.op("PRelu", [x, file.constant(file.rng.uniform(-0.2, 0.8, shape))], file.shapes[x])
    options = {"Elu": {"alpha": 0.7}, "LeakyRelu": {"alpha": 0.2}, "Shrink": {"lambd": 0.3, "bias": 0.3}}
    return file.op(kind, [x], file.shapes[x], **options.get(kind, {}))


def in_pieces(file: File, x: str) -> str:
    """Add a function that exporters decompose into several operators."""
    shape = file.shapes[x]

    def op(kind: str, *inputs: str) -> str:
        return file.op(kind, inputs, shape)

    kind = _pick(file, "silu", "hard_swish", "gelu", "gelu_late", "mish", "hard_sigmoid", "gelu_tanh")
    if kind == "silu":
        return op("Mul", x, op("Sigmoid", x))
    if kind == "hard_swish":
        clipped = file.clip(op("Add", x, file.constant(3.0)), 0.0, 6.0)
        return op("Div", op("Mul", x, clipped), file.constant(6.0))
    if kind == "hard_sigmoid":
        clipped = file.clip(op("Add", file.constant(3.0), x), 0.0, 6.0)
        return op("Mul", clipped, file.constant(1.0 / 6.0))
    if kind == "mish":
        return op("Mul", x, op("Tanh", op("Softplus", x)))
    if kind == "gelu_tanh":
        cubed = op("Mul", op("Pow", x, file.constant(3.0)), file.constant(0.044715))
        inner = op("Tanh", op("Mul", op("Add", x, cubed), file.constant((2.0 / np.pi) ** 0.5)))
        return op("Mul", op("Mul", x, file.constant(0.5)), op("Add", inner, file.constant(1.0)))
    if file.opset < 9:
        return op("Relu", x)
    bent = op("Erf", op("Div", x, file.constant(2.0**0.5)))
    above = op("Add", bent, file.constant(1.0))
    if kind == "gelu":
        return op("Mul", op("Mul", x, above), file.constant(0.5))
    return op("Mul", x, op("Mul", above, file.constant(0.5)))


def pooled(file: File, x: str) -> str:
    """Add a pooling with random options."""
    batch, channels, height, width = file.shapes[x]
    kind, ceil = _pick(file, "MaxPool", "AveragePool"), file.opset >= 10 and _pick(file, False, True)
    kernel, stride = _pick(file, 2, 3), _pick(file, 1, 2)
    around = _pick(file, 0, 1)
    if min(height, width) < 4:
        return x
    options: dict[str, Any] = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [around] * 4}
    if ceil:
        options["ceil_mode"] = 1
    if kind == "AveragePool" and not ceil:
        options["count_include_pad"] = _pick(file, 0, 1)
    spread = 1
    if kind == "MaxPool" and file.opset >= 10 and _pick(file, False, False, True) and not ceil:
        spread = 2
        options["dilations"] = [2, 2]
    size = []
    for n in (height, width):
        room = n + 2 * around - spread * (kernel - 1) - 1
        count = -(-room // stride) + 1 if ceil else room // stride + 1
        if ceil and (count - 1) * stride >= n + around:
            count -= 1
        size.append(count)
    return file.op(kind, [x], (batch, channels, *size), **options)


def gated(file: File, x: str) -> str:
    """Add squeeze and excite."""
    channels = file.shapes[x][1]
    if _pick(file, True, False):
        mean = file.op("GlobalAveragePool", [x], (1, channels, 1, 1))
    else:
        mean = file.axes("ReduceMean", x, [2, 3], (1, channels, 1, 1), 18, keepdims=1)
    gate = file.conv(file.op("Relu", [file.conv(mean, 4, 1)], (1, 4, 1, 1)), channels, 1)
    gate = file.op(_pick(file, "Sigmoid", "HardSigmoid"), [gate], file.shapes[gate])
    return file.op("Mul", [x, gate] if _pick(file, True, False) else [gate, x], file.shapes[x])


def shuffled(file: File, x: str) -> str:
    """Add a permutation of channels, or a rearrangement of channels to pixels or back."""
    kind = _pick(file, "shuffle", "pixels", "depth", "space", "space_pieces")
    _, _, height, width = file.shapes[x]
    if kind == "shuffle":
        x = file.conv(x, 8)
        _, _, height, width = file.shapes[x]
        parts = file.transpose(file.reshape(x, (1, 2, 4, height, width)), (0, 2, 1, 3, 4))
        return file.reshape(parts, (1, 8, height, width))
    if kind in ("pixels", "depth"):
        if max(height, width) > 16:
            return x
        x = file.conv(x, 12)
        if kind == "depth":
            options = {"mode": _pick(file, "DCR", "CRD")} if file.opset >= 11 else {}
            return file.op("DepthToSpace", [x], (1, 3, 2 * height, 2 * width), blocksize=2, **options)
        wide = file.reshape(x, _pick(file, (1, 3, 2, 2, height, width), (1, 2, 2, 3, height, width)))
        order = (0, 1, 4, 2, 5, 3) if file.shapes[wide][1] == 3 else (0, 3, 4, 1, 5, 2)
        return file.reshape(file.transpose(wide, order), (1, 3, 2 * height, 2 * width))
    if height % 2 or width % 2:
        return x
    x = file.conv(x, 3)
    if kind == "space":
        return file.op("SpaceToDepth", [x], (1, 12, height // 2, width // 2), blocksize=2)
    wide = file.transpose(file.reshape(x, (1, 3, height // 2, 2, width // 2, 2)), (0, 1, 3, 5, 2, 4))
    return file.reshape(wide, (1, 12, height // 2, width // 2))


def resized(file: File, x: str) -> str:
    """Add a resize of a small map, with any coordinate convention."""
    if max(file.shapes[x][2:]) > 12:
        return x
    factors_ = _pick(file, (2, 2), (3, 2), (1, 2))
    if file.opset < 11:
        return file.resize(x, factors_)
    kind = _pick(file, "nearest", "linear", "cubic")
    how = _pick(file, "half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
    rounding = {"nearest_mode": _pick(file, "floor", "round_prefer_floor")} if kind == "nearest" else {}
    return file.resize(x, factors_, kind, coordinate_transformation_mode=how, **rounding)


def enlarged(file: File, x: str) -> str:
    """Add a transposed convolution."""
    batch, channels, height, width = file.shapes[x]
    if max(height, width) > 12:
        return x
    kernel, stride, around = _pick(file, (2, 2, 0), (3, 2, 1), (4, 2, 1), (3, 1, 1), (3, 2, 0))
    more = _pick(file, 0, 1) if stride > 1 else 0
    groups = 2 if channels % 2 == 0 and _pick(file, False, True) else 1
    weights = [file.random(channels, 4 // groups, kernel, kernel, spread=0.3), file.random(4)]
    size = [(n - 1) * stride + kernel - 2 * around + more for n in (height, width)]
    return file.op("ConvTranspose", [x, *weights], (batch, 4, *size), strides=[stride] * 2, pads=[around] * 4,
                   group=groups, kernel_shape=[kernel] * 2, output_padding=[more] * 2)  # fmt: skip


def padded(file: File, x: str) -> str:
    """Add padding of any mode, also of channels."""
    mode, value = _pick(file, ("constant", 0.0), ("constant", 0.5), ("reflect", 0.0), ("edge", 0.0))
    if min(file.shapes[x][2:]) < 3:
        return x
    channels = _pick(file, 0, 0, 1) if mode == "constant" and not value else 0
    return file.pad(x, [0, 0, 1, 2, 0, channels, 2, 1], mode, value)


def cut(file: File, x: str) -> str:
    """Add slices and splits."""
    _, channels, height, width = file.shapes[x]
    kind = _pick(file, "rows", "columns", "channels", "split", "gather", "steps")
    if kind == "split" and channels >= 3:
        parts = file.split(x, 1, [1, channels - 2, 1])
        return file.op("Concat", [parts[1], parts[2], parts[0]], file.shapes[x], axis=1)
    if kind == "gather":
        places = file.rng.permutation(channels)
        return file.op("Gather", [x, file.constant(places, "int64")], file.shapes[x], axis=1)
    if kind == "channels":
        return file.slice(x, 1, range(channels // 2, channels))
    if kind == "steps" and file.opset >= 10 and height >= 4:
        return file.slice(x, _pick(file, 2, 3), _pick(file, range(0, height, 2), range(min(height, width) - 1, -1, -1)))
    axis = 2 if kind == "rows" else 3
    size = file.shapes[x][axis]
    return file.slice(x, axis, range(size // 4, size))


def concatenation(file: File, x: str) -> str:
    """Add a concatenation of branches."""
    parts = [x, file.conv(x, 3), file.op("Relu", [x], file.shapes[x])]
    _, channels, height, width = file.shapes[x]
    if _pick(file, True, True, False):
        return file.op("Concat", parts, (1, 2 * channels + 3, height, width), axis=1)
    axis = _pick(file, 2, 3)
    shape = list(file.shapes[x])
    shape[axis] *= 2
    return file.op("Concat", [parts[0], parts[2]], shape, axis=axis)


def normalized(file: File, x: str) -> str:
    """Add a normalisation by the map's own statistics."""
    _, channels, height, width = file.shapes[x]
    kinds = ["instance", "lrn", "layer_pieces", "l2", *(["layer"] if file.opset >= 17 else [])]
    kind = _pick(file, *kinds, *(["group"] if file.opset >= 21 else []))
    if kind == "instance":
        return file.op("InstanceNormalization", [x, file.random(channels), file.random(channels)], file.shapes[x])
    if kind == "lrn":
        return file.op("LRN", [x], file.shapes[x], size=3, alpha=0.2)
    if kind == "group":
        x = file.conv(x, 6)
        return file.op("GroupNormalization", [x, file.random(6), file.random(6)], file.shapes[x], num_groups=2)
    if kind == "l2":
        length = file.axes("ReduceL2", x, [1], (1, 1, height, width), 18, keepdims=1)
        return file.op("Div", [x, file.clip(length, 1e-12, None)], file.shapes[x])
    channels_last = file.transpose(x, (0, 2, 3, 1))
    shape = file.shapes[channels_last]
    if kind == "layer":
        output = file.op("LayerNormalization", [channels_last, file.random(channels), file.random(channels)], shape)
    else:
        reduced = (1, height, width, 1)
        centred = file.op("Sub", [channels_last, file.axes("ReduceMean", channels_last, [-1], reduced, 18)], shape)
        squares = file.op("Pow", [centred, file.constant(2.0)], shape)
        variance = file.op("Add", [file.axes("ReduceMean", squares, [-1], reduced, 18), file.constant(1e-5)], reduced)
        quotient = file.op("Div", [centred, file.op("Sqrt", [variance], reduced)], shape)
        output = file.op(
            "Add", [file.op("Mul", [quotient, file.random(channels)], shape), file.random(channels)], shape
        )
    return file.transpose(output, (0, 3, 1, 2))


def transposition(file: File, x: str) -> str:
    """Add a transposition of rows and columns, or the identity."""
    return file.transpose(x, _pick(file, (0, 1, 3, 2), (0, 1, 2, 3)))


def computed_shape(file: File, x: str) -> str:
    """Add a reshape to sizes that the file computes from the map's own."""
    _, channels, height, width = file.shapes[x]
    shape = file.op("Shape", [x], (4,))
    sizes = [file.op("Gather", [shape, file.constant(axis, "int64")], (), axis=0) for axis in (0, 1)]
    lengths = [file.axes("Unsqueeze", size, [0], (1,)) for size in sizes]
    computed = file.constant([-1], "int64")
    flat = file.op("Reshape", [x, file.op("Concat", [*lengths, computed], (3,), axis=0)], (1, channels, height * width))
    back = file.constant([0, 0, height, width], "int64")
    return file.op("Reshape", [file.op("Relu", [flat], file.shapes[flat]), back], file.shapes[x])


def dropped(file: File, x: str) -> str:
    """Add an operator without effect."""
    kind = _pick(file, "Identity", "Dropout", "Cast")
    return file.op(kind, [x], file.shapes[x], **({"to": 1} if kind == "Cast" else {}))


def pixel_products(file: File, x: str) -> str:
    """Add a matrix product of every pixel's channels."""
    _, channels, height, width = file.shapes[x]
    rows = file.transpose(file.reshape(x, (1, channels, height * width)), (0, 2, 1))
    product = file.op("MatMul", [rows, file.random(channels, 5)], (1, height * width, 5))
    shifted = file.op("Add", [product, file.random(5)], (1, height * width, 5))
    return file.reshape(file.transpose(shifted, (0, 2, 1)), (1, 5, height, width))


def attention(file: File, x: str) -> str:
    """Add self-attention of all pixels, with two heads."""
    if max(file.shapes[x][2:]) > 12:
        return x
    x = file.conv(x, 8)
    _, _, height, width = file.shapes[x]
    count = height * width
    rows = file.transpose(file.reshape(x, (1, 8, count)), (0, 2, 1))
    heads = []
    for order in ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)):
        projection = file.op("MatMul", [rows, file.random(8, 8, spread=0.35)], (1, count, 8))
        heads.append(file.transpose(file.reshape(projection, (1, count, 2, 4)), order))
    scores = file.op("MatMul", heads[:2], (1, 2, count, count))
    scores = file.op("Softmax", [file.op("Div", [scores, file.constant(2.0)], file.shapes[scores])],
                     file.shapes[scores], axis=3)  # fmt: skip
    mixed = file.transpose(file.op("MatMul", [scores, heads[2]], (1, 2, count, 4)), (0, 2, 1, 3))
    return file.reshape(file.transpose(file.reshape(mixed, (1, count, 8)), (0, 2, 1)), (1, 8, height, width))


BLOCKS: dict[str, Block] = {
    "attention": attention,
    "activation": activated,
    "batch normalisation": batch_norm,
    "computed shape": computed_shape,
    "constants": factors,
    "convolution": convolution,
    "cuts": cut,
    "does nothing": dropped,
    "function in pieces": in_pieces,
    "gate": gated,
    "join": concatenation,
    "normalisation": normalized,
    "padding": padded,
    "pixels and channels": shuffled,
    "pixel products": pixel_products,
    "pooling": pooled,
    "residual": residual,
    "resize": resized,
    "transposed convolution": enlarged,
    "turn": transposition,
}

ENDS = ("map", "classes", "rows", "mask", "vector", "several")


def _ended(file: File, x: str, kind: str) -> list[str]:
    _, channels, height, width = file.shapes[x]
    if kind == "classes":
        size = channels * height * width
        flat = file.op("Flatten", [x], (1, size))
        weights = [file.random(size, 5, spread=size**-0.5), file.random(5)]
        return [file.op("Softmax", [file.op("Gemm", [flat, *weights], (1, 5))], (1, 5), axis=1)]
    if kind == "vector":
        mean = file.op("GlobalAveragePool", [x], (1, channels, 1, 1))
        flat = file.axes("Squeeze", mean, [2, 3], (1, channels)) if channels > 1 else file.op("Flatten", [mean], (1, 1))
        return [file.op("MatMul", [flat, file.random(channels, 4)], (1, 4))]
    if kind == "rows":
        x = file.conv(x, 12, 1)
        parts = [x, file.op("MaxPool", [x], (1, 12, *(n // 2 for n in file.shapes[x][2:])), kernel_shape=[2, 2],
                            strides=[2, 2])] if min(file.shapes[x][2:]) > 1 else [x]  # fmt: skip
        if _pick(file, True, False):
            rows = [file.reshape(file.transpose(head, (0, 2, 3, 1)), (1, -1, 4)) for head in parts]
            axis, count = 1, sum(file.shapes[row][1] for row in rows)
            shape: tuple[int, ...] = (1, count, 4)
        else:
            rows = [file.reshape(head, (1, 12, -1)) for head in parts]
            axis, count = 2, sum(file.shapes[row][2] for row in rows)
            shape = (1, 12, count)
        concatenated = file.op("Concat", rows, shape, axis=axis) if len(rows) > 1 else rows[0]
        return [file.op("Sigmoid", [concatenated], shape)]
    if kind == "mask":
        return [file.op("Softmax", [file.conv(x, 6)], (1, 6, height, width), axis=1)] if file.opset >= 13 else [x]
    return [x, file.conv(x, 4)] if kind == "several" else [x]


def network(seed: int) -> tuple[Any, list[str]]:
    """Return a random network of a seed as an ``onnx.ModelProto``, and the names of its blocks."""
    rng = np.random.default_rng([seed, 7])
    file = File(seed, int(rng.integers(7, NEWEST + 1)))
    x = file.input(
        (_pick(file, 1, "N"), int(rng.choice([1, 3, 3, 6])), int(rng.integers(6, 18)), int(rng.integers(6, 18)))
    )
    blocks = [str(name) for name in rng.choice(sorted(BLOCKS), int(rng.integers(3, 8)))]
    x = file.conv(x, 6)
    for block in blocks:
        x = BLOCKS[block](file, x)
    end = str(rng.choice(ENDS))
    for name in _ended(file, x, end):
        file.output(name)
    return file.model(), [*blocks, f"ends in {end}"]


def run(model: Any, feeds: dict[str, Any]) -> list[Any]:
    """Return the outputs of a model in ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, feeds))


def agreement(model: Any, *, seed: int = 0) -> float:
    """Return the largest relative difference between ONNX Runtime and the imported graph's float reference.

    An output's differences are divided by its largest value.
    """
    from glsl_infer.graph import reference
    from glsl_infer.importers import onnx as importer

    rng = np.random.default_rng(seed)
    feeds = {
        value.name: rng.normal(0.0, 1.0, [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]).astype(
            np.float32
        )
        for value in model.graph.input
    }
    pictures = {name: "none" for name, value in feeds.items() if value.ndim in (3, 4)}
    expected = run(model, feeds)
    imported = importer.imported(model, io_options=importer.IoOptions(fits=pictures))
    graph = imported.survey.whole()
    inputs = {name: imported.stored_input(name, values) for name, values in feeds.items()}
    outputs = reference.run(graph, inputs, mode="float")
    worst = 0.0
    for output, target in zip(graph.outputs, expected):
        returned = imported.file_output(output.name, outputs[output.name])
        assert returned.shape == target.shape, (returned.shape, target.shape)
        difference = float(np.abs(returned - target).max() / max(np.abs(target).max(), 1e-6))
        worst = float(np.maximum(worst, difference))  # Python's max would skip NaN
    return worst


__all__ = [
    "BLOCKS",
    "ENDS",
    "NEWEST",
    "File",
    "TensorProto",
    "agreement",
    "helper",
    "network",
    "numpy_helper",
    "onnx",
    "run",
]
