"""Operators of ONNX Runtime's own domain and of ONNX's first opsets, rewritten as today's ONNX operators.

ONNX Runtime writes operators of its domain when it saves an optimised or quantised file. Operators with their own
converter stay unchanged, as do operators whose rewriting depends on the ranks of tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from glsl_infer.importers.onnx.model import Numbers, Operator, Part

DOMAIN = "com.microsoft"

_OPSET = 23
"""Opset of the replacement operators."""

_SAME = {
    "DequantizeLinear", "GatherND", "Gelu", "GridSample", "Pad", "QuantizeLinear", "Range",
    "SimplifiedLayerNormalization", "Trilu",
}  # fmt: skip
"""Operators identical to ONNX operators of the same name."""

_CHANNELS_FIRST, _CHANNELS_LAST = (0, 3, 1, 2), (0, 2, 3, 1)


def in_onnx(part: Part) -> Part:
    """Return a graph with the rewritable operators replaced by ONNX operators."""
    tables = {DOMAIN: _REWRITES, "": _OLD}
    if not any(operator.kind in tables.get(operator.domain, ()) for operator in part.operators):
        return part
    used_names = {name for operator in part.operators for name in (*operator.inputs, *operator.outputs)}
    constants = dict(part.constants)
    operators: list[Operator] = []
    for operator in part.operators:
        rewrite = tables.get(operator.domain, {}).get(operator.kind)
        pieces = _Pieces(operator, constants, used_names)
        if rewrite is not None and rewrite(pieces):
            operators += pieces.operators
            constants.update(pieces.constants)
        else:
            operators.append(operator)
    return Part(tuple(operators), constants, part.outputs)


class _Pieces:
    """The operators that replace one operator of a file.

    Args:
        operator: the operator of the file.
        stored: constants of its graph, by name.
        used_names: names of the graph's tensors. Names of new tensors are added.
    """

    def __init__(self, operator: Operator, stored: Mapping[str, Callable[[], Numbers]], used_names: set[str]) -> None:
        self.operator, self._stored, self._used_names = operator, stored, used_names
        self.operators: list[Operator] = []
        self.constants: dict[str, Callable[[], Numbers]] = {}

    def input(self, index: int) -> str:
        """Return the name of the input at an index, or "" if it is left out."""
        return self.operator.inputs[index] if index < len(self.operator.inputs) else ""

    def output(self, index: int) -> str:
        """Return the name of the output at an index, or "" if it is left out."""
        return self.operator.outputs[index] if index < len(self.operator.outputs) else ""

    def attribute(self, name: str, default: Any) -> Any:
        """Return an attribute of the file's operator."""
        return self.operator.attributes.get(name, default)

    def stored(self, *indices: int) -> bool:
        """Return whether each of these inputs is a constant of the file or left out."""
        return all(not self.input(index) or self.input(index) in self._stored for index in indices)

    def number(self, index: int) -> Numbers | None:
        """Return a constant of the file, or None if it is left out."""
        return self._stored[self.input(index)]() if self.input(index) else None

    def name(self, what: str) -> str:
        """Return an unused name for a new tensor."""
        name = plain_name = f"{self.operator.outputs[0]}/{what}"
        count = 0
        while name in self._used_names:
            count += 1
            name = f"{plain_name}~{count}"
        self._used_names.add(name)
        return name

    def constant(self, what: str, read: Callable[[], Numbers]) -> str:
        """Add a constant that is computed on first use; return its name."""
        name = self.name(what)
        self.constants[name] = read
        return name

    def add(self, kind: str, inputs: Sequence[str], outputs: Sequence[str] = (), **attributes: Any) -> str:
        """Add an operator of ONNX; return its first output, a new tensor by default."""
        results = tuple(outputs) or (self.name(kind),)
        self.operators.append(Operator(kind, "", _OPSET, self.operator.name, tuple(inputs), results, attributes))
        return results[0]

    def end(self, name: str) -> bool:
        """Rename the first output of the last new operator to the first output of the file's operator."""
        last = self.operators[-1]
        outputs = (self.operator.outputs[0], *last.outputs[1:])
        assert last.outputs[0] == name
        self.operators[-1] = replace(last, outputs=outputs)
        return True

    def sum(self, name: str, *indices: int) -> str:
        """Return the sum of a tensor and the present ones of the inputs at these indices."""
        for index in filter(self.input, indices):
            name = self.add("Add", [name, self.input(index)])
        return name


def _same(pieces: _Pieces) -> bool:
    pieces.operators.append(replace(pieces.operator, domain="", opset=_OPSET))
    return True


def _activated(pieces: _Pieces, name: str, function: str, parameters: Sequence[float]) -> str:
    """Return a tensor after the activation of a fused operator, or "" if the activation is not supported."""
    names = {"LeakyRelu": ("alpha",), "HardSigmoid": ("alpha", "beta"), "Elu": ("alpha",), "Relu": (), "Sigmoid": (),
             "Tanh": (), "HardSwish": (), "Softplus": (), "Softsign": (), "ThresholdedRelu": ("alpha",)}  # fmt: skip
    if not function:
        return name
    if function == "Clip":
        limits = [
            pieces.constant(what, lambda value=value: np.asarray(value, np.float32))  # type: ignore[misc]
            for what, value in zip(("low", "high"), parameters)
        ]
        return pieces.add("Clip", [name, *limits])
    if function not in names:
        return ""
    attributes: dict[str, Any] = dict(zip(names[function], parameters))
    return pieces.add(function, [name], **attributes)


def _convolution(pieces: _Pieces) -> bool:
    """Rewrite a FusedConv: a convolution, plus another tensor, then an activation."""
    activation_names = {"activation", "activation_params"}
    attributes = {name: value for name, value in pieces.operator.attributes.items() if name not in activation_names}
    name = pieces.add("Conv", [pieces.input(index) for index in range(3)], **attributes)
    function, parameters = str(pieces.attribute("activation", "")), pieces.attribute("activation_params", ())
    name = _activated(pieces, pieces.sum(name, 3), function, parameters)
    return bool(name) and pieces.end(name)


def _gemm(pieces: _Pieces) -> bool:
    """Rewrite a FusedGemm: a Gemm, then an activation."""
    activation_names = ("activation", "activation_alpha", "activation_beta", "activation_gamma")
    attributes = {name: value for name, value in pieces.operator.attributes.items() if name not in activation_names}
    name = pieces.add("Gemm", [pieces.input(index) for index in range(3)], **attributes)
    parameters = [pieces.attribute(key, None) for key in activation_names[1:]]
    function = str(pieces.attribute("activation", ""))
    name = _activated(pieces, name, function, [value for value in parameters if value is not None])
    return bool(name) and pieces.end(name)


def _gelu(approximate: str) -> Callable[[_Pieces], bool]:
    def rewrite(pieces: _Pieces) -> bool:
        return pieces.end(pieces.add("Gelu", [pieces.sum(pieces.input(0), 1)], approximate=approximate))

    return rewrite


def _quick_gelu(pieces: _Pieces) -> bool:
    return pieces.end(pieces.add("Swish", [pieces.input(0)], alpha=pieces.attribute("alpha", 1.702)))


def _skipped(kind: str) -> Callable[[_Pieces], bool]:
    """Return the rewriting of a sum and its normalisation. The sum is another output."""

    def rewrite(pieces: _Pieces) -> bool:
        beta = 3 if kind == "LayerNormalization" else 0
        total = pieces.sum(pieces.input(0), 1, beta + 1 if beta else 3)
        if pieces.output(3):
            last = pieces.operators[-1]
            pieces.operators[-1] = replace(last, outputs=(pieces.output(3),))
            total = pieces.output(3)
        weights = [pieces.input(2), *([pieces.input(beta)] if beta and pieces.input(beta) else [])]
        outputs = [pieces.operator.outputs[0], *filter(None, pieces.operator.outputs[1:3])]
        pieces.add(kind, [total, *weights], outputs, axis=-1, epsilon=pieces.attribute("epsilon", 1e-5))
        return True

    return rewrite


def _whole_product(pieces: _Pieces, left: str, weights: int, scale: int, zero: int, bias: int) -> bool:
    """Rewrite a product by quantised weights."""
    quantized = [pieces.input(index) for index in (weights, scale, zero)]
    kernel = pieces.add("DequantizeLinear", quantized if quantized[2] else quantized[:2], axis=-1)
    return pieces.end(pieces.sum(pieces.add("MatMul", [left, kernel]), bias))


def _dynamic_product(pieces: _Pieces) -> bool:
    return _whole_product(pieces, pieces.input(0), 1, 2, 3, 4)


def _integer_product(pieces: _Pieces) -> bool:
    quantized = [pieces.input(index) for index in (0, 2, 4)]
    left = pieces.add("DequantizeLinear", quantized if quantized[2] else quantized[:2])
    return _whole_product(pieces, left, 1, 3, 5, 6)


def _few_bits(pieces: _Pieces) -> bool:
    """Rewrite a MatMulNBits: a product by weights of 4 or 8 bits with a scale for each block of a column."""
    bits, block = int(pieces.attribute("bits", 4)), int(pieces.attribute("block_size", 0))
    rows, columns = int(pieces.attribute("K", 0)), int(pieces.attribute("N", 0))
    if bits not in (4, 8) or min(block, rows, columns) < 1 or pieces.input(4) or not pieces.stored(1, 2, 3):
        return False
    blocks = -(-rows // block)

    def unpacked(packed: Numbers, count: int) -> Numbers:
        packed = packed.reshape(columns, -1)
        if bits == 4:
            packed = np.stack([packed & 15, packed >> 4], axis=-1).reshape(columns, -1)
        return packed[:, :count].astype(np.float32)

    def kernel() -> Numbers:
        weights, scales, zeros = (pieces.number(index) for index in (1, 2, 3))
        assert weights is not None and scales is not None
        centre: Any = float(1 << (bits - 1))
        if zeros is not None:
            is_packed = zeros.dtype == np.uint8
            centre = (unpacked(zeros, blocks) if is_packed else zeros.reshape(columns, blocks))[:, :, None]
        values = unpacked(weights, blocks * block).reshape(columns, blocks, block) - centre
        values = values * scales.reshape(columns, blocks, 1)
        return np.ascontiguousarray(values.reshape(columns, -1)[:, :rows].T, np.float32)

    product = pieces.add("MatMul", [pieces.input(0), pieces.constant("weights", kernel)])
    return pieces.end(pieces.sum(product, 5))


def _lstm(pieces: _Pieces) -> bool:
    """Rewrite a DynamicQuantizeLSTM: an LSTM with quantised, transposed weights."""
    if not pieces.stored(1, 2, 8, 9, 10, 11):
        return False

    def weights(index: int, scale: int) -> Callable[[], Numbers]:
        def read() -> Numbers:
            stored, factor, zero = (pieces.number(each) for each in (index, scale, scale + 1))
            assert stored is not None and factor is not None
            values = stored.astype(np.float32)
            values = values - _per_direction(np.zeros(1) if zero is None else zero, len(values))
            values = values * _per_direction(factor, len(values))
            return np.ascontiguousarray(values.transpose(0, 2, 1), np.float32)

        return read

    kernels = [pieces.constant("W", weights(1, 8)), pieces.constant("R", weights(2, 10))]
    inputs = [pieces.input(0), *kernels, *(pieces.input(index) for index in range(3, 8))]
    while not inputs[-1]:
        inputs.pop()
    pieces.add("LSTM", inputs, pieces.operator.outputs, **pieces.operator.attributes)
    return True


def _per_direction(weights: Numbers, directions: int) -> Numbers:
    """Return scales as (directions, inputs, gates): one, one per direction, or one per gate of each direction."""
    return weights.astype(np.float32).reshape(directions if weights.size > 1 else 1, 1, -1)


def _attention(pieces: _Pieces) -> bool:
    """Rewrite an Attention whose queries, keys and values are the product of one matrix."""
    if any(map(pieces.input, (3, 4, 6))) or pieces.attribute("do_rotary", 0):
        return False
    projected = pieces.sum(pieces.add("MatMul", [pieces.input(0), pieces.input(1)]), 2)
    parts = [pieces.name(what) for what in ("query", "key", "value")]
    sizes = pieces.attribute("qkv_hidden_sizes", ())
    if sizes:
        lengths = pieces.constant("sizes", lambda: np.asarray(sizes, np.int64))
        pieces.add("Split", [projected, lengths], parts, axis=2)
    else:
        pieces.add("Split", [projected], parts, axis=2, num_outputs=3)
    return _attended(pieces, parts, 5)


def _many_heads(pieces: _Pieces) -> bool:
    """Rewrite a MultiHeadAttention of queries, keys and values with a bias each."""
    if any(map(pieces.input, (4, 6, 7, 8, 9))) or not all(map(pieces.input, range(3))):
        return False
    parts = [pieces.input(index) for index in range(3)]
    if pieces.input(3):
        biases = [pieces.name(f"{what}-bias") for what in ("query", "key", "value")]
        pieces.add("Split", [pieces.input(3)], biases, axis=0, num_outputs=3)
        parts = [pieces.add("Add", [part, bias]) for part, bias in zip(parts, biases)]
    return _attended(pieces, parts, 5)


def _attended(pieces: _Pieces, parts: Sequence[str], bias: int) -> bool:
    heads = int(pieces.attribute("num_heads", 0))
    inputs = [*parts, *([pieces.input(bias)] if pieces.input(bias) else [])]
    attributes: dict[str, Any] = {
        "q_num_heads": heads,
        "kv_num_heads": heads,
        "is_causal": int(pieces.attribute("unidirectional", 0)),
        "scale": float(pieces.attribute("scale", 0.0)),
    }
    return heads > 0 and pieces.end(pieces.add("Attention", inputs, **attributes))


def _channels_last(pieces: _Pieces) -> bool:
    """Rewrite an operator on (batch, height, width, channels) between two transpositions."""
    operator, attributes = pieces.operator, dict(pieces.operator.attributes)
    if not attributes.pop("channels_last", int(operator.kind == "NhwcMaxPool")):
        return operator.kind == "QLinearConv" and _same(pieces)
    channels_first = pieces.add("Transpose", [pieces.input(0)], perm=_CHANNELS_FIRST)
    kind, ours = operator.kind, operator.kind.startswith("QLinear") and operator.kind != "QLinearConv"
    inner = pieces.name(kind)
    pieces.operators.append(
        replace(
            operator,
            kind="MaxPool" if kind == "NhwcMaxPool" else kind,
            domain=DOMAIN if ours else "",
            opset=1 if ours else _OPSET,
            inputs=(channels_first, *operator.inputs[1:]),
            outputs=(inner,),
            attributes=attributes,
        )
    )
    return pieces.end(pieces.add("Transpose", [inner], perm=_CHANNELS_LAST))


def _quantized(kind: str, tensors: Sequence[int], plain: Sequence[int] = ()) -> Callable[[_Pieces], bool]:
    """Return the rewriting of an operator on quantised tensors.

    Args:
        kind: ONNX's operator on real numbers.
        tensors: indices of the quantised inputs, each followed by its scale and its zero point. The scale of the result
            follows them.
        plain: indices of the inputs that are not quantised. They come first.
    """

    def rewrite(pieces: _Pieces) -> bool:
        inputs = [pieces.input(index) for index in plain]
        for index in tensors:
            read = [pieces.input(index + offset) for offset in range(3)]
            inputs.append(pieces.add("DequantizeLinear", read if read[2] else read[:2]))
        result = tensors[-1] + 3
        computed = pieces.add(kind, inputs, **pieces.operator.attributes)
        parameters = [pieces.input(result), *filter(None, [pieces.input(result + 1)])]
        return pieces.end(pieces.add("QuantizeLinear", [computed, *parameters]))

    return rewrite


_REWRITES: Mapping[str, Callable[[_Pieces], bool]] = {
    **dict.fromkeys(_SAME, _same),
    "Attention": _attention,
    "BiasGelu": _gelu("none"),
    "DynamicQuantizeLSTM": _lstm,
    "DynamicQuantizeMatMul": _dynamic_product,
    "FastGelu": _gelu("tanh"),
    "FusedConv": _convolution,
    "FusedGemm": _gemm,
    "MatMulIntegerToFloat": _integer_product,
    "MatMulNBits": _few_bits,
    "MultiHeadAttention": _many_heads,
    "NhwcMaxPool": _channels_last,
    "QLinearAveragePool": _channels_last,
    "QLinearConv": _channels_last,
    "QLinearGlobalAveragePool": _channels_last,
    "QLinearWhere": _quantized("Where", [1, 4], [0]),
    "QuickGelu": _quick_gelu,
    "SkipLayerNormalization": _skipped("LayerNormalization"),
    "SkipSimplifiedLayerNormalization": _skipped("SimplifiedLayerNormalization"),
}
"""Rewriting by the operator's type. It adds the replacement, or returns False to keep the operator."""


def _number(pieces: _Pieces, what: str, *shape: int) -> str:
    """Return a constant with the values of an attribute."""
    value = np.asarray(pieces.attribute(what, 1.0 if what in ("alpha", "scale") else 0.0), np.float32)
    return pieces.constant(what, lambda: value.reshape(shape))


def _affine(factor: str, offset: str, *shape: int) -> Callable[[_Pieces], bool]:
    """Return the rewriting of a product and a sum with attributes. The sum's has a shape."""

    def rewrite(pieces: _Pieces) -> bool:
        product = pieces.add("Mul", [pieces.input(0), _number(pieces, factor)])
        return pieces.end(pieces.add("Add", [product, _number(pieces, offset, *shape)]))

    return rewrite


def _scaled_tanh(pieces: _Pieces) -> bool:
    inner = pieces.add("Tanh", [pieces.add("Mul", [pieces.input(0), _number(pieces, "beta")])])
    return pieces.end(pieces.add("Mul", [inner, _number(pieces, "alpha")]))


def _cropped(pieces: _Pieces) -> bool:
    """Rewrite a Crop: a border is removed, or a part of ``scale`` rows and columns is taken after it."""
    left, top, right, bottom = pieces.attribute("border", (0, 0, 0, 0))
    size = pieces.attribute("scale", ())
    ends = [top + size[0], left + size[1]] if size else [-bottom or 2**31, -right or 2**31]
    slice_options = {"starts": [top, left], "ends": ends, "axes": [2, 3]}
    names = [pieces.constant(key, partial(np.asarray, value, np.int64)) for key, value in slice_options.items()]
    return pieces.end(pieces.add("Slice", [pieces.input(0), *names]))


def _enlarged(pieces: _Pieces) -> bool:
    """Rewrite an Upsample of opset 1, whose two factors are attributes of their own."""
    factors = [pieces.attribute(f"{side}_scale", None) for side in ("height", "width")]
    if None in factors:
        return False
    scales = {"scales": (1.0, 1.0, *factors), "mode": pieces.attribute("mode", "nearest")}
    pieces.operators.append(replace(pieces.operator, attributes=scales))
    return True


_OLD: Mapping[str, Callable[[_Pieces], bool]] = {
    "Affine": _affine("alpha", "beta"),
    "Crop": _cropped,
    "ImageScaler": _affine("scale", "bias", -1, 1, 1),
    "ScaledTanh": _scaled_tanh,
    "Upsample": _enlarged,
}
"""Rewriting of operators of ONNX's first opsets."""
