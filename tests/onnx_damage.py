"""ONNX files with a damaged structure: valid parts that do not fit together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx_networks import File, helper, onnx

Rng = np.random.Generator

_NUMBERS = (0, 1, -1, 2, 3, 7, 64, 4096, 2**20, 2**31, 2**40, -(2**63), 2**63 - 1)
_FLOATS = (0.0, -1.0, 1e-30, 1e30, float("nan"), float("inf"), float("-inf"))
_OPERATORS = (
    *(
        "Add",
        "Mul",
        "Div",
        "Conv",
        "ConvTranspose",
        "Concat",
        "Reshape",
        "Transpose",
        "Gather",
        "Slice",
        "Split",
        "Pad",
    ),
    *("Resize", "Softmax", "Gemm", "MatMul", "AveragePool", "MaxPool", "GlobalAveragePool", "ReduceMean"),
    *("Expand", "Tile", "Shape", "Constant", "ConstantOfShape", "Range", "Where", "Cast", "Squeeze", "Unsqueeze"),
    *(
        "Identity",
        "LayerNormalization",
        "InstanceNormalization",
        "BatchNormalization",
        "DepthToSpace",
        "SpaceToDepth",
        "LRN",
    ),
    *("QuantizeLinear", "DequantizeLinear", "Loop", "If", "LSTM", "NonMaxSuppression", "TopK", "NoSuchOperator"),
)


def sound(seed: int) -> bytes:
    """Return a file with many kinds of parts: constants, attributes, computed shapes, several outputs."""
    shape = (1, 4, 8, 6)
    file = File(seed, 13 + seed % 5)
    x = file.conv(file.input(("N", 3, 8, 6)), 4)
    y = file.clip(file.op("PRelu", [x, file.random(4, 1, 1)], shape), 0.0, 6.0)
    size = file.op("Shape", [y], (4,))
    padded = file.pad(y, [0, 0, 1, 1, 0, 0, 1, 1])
    rows = file.op("Reshape", [file.transpose(padded, (0, 2, 3, 1)), file.constant([1, -1, 2], "int64")], (1, 160, 2))
    again = file.op("Expand", [file.op("GlobalAveragePool", [y], (1, 4, 1, 1)), size], shape)
    for name in (rows, file.op("Concat", [again, y], (1, 8, 8, 6), axis=1)):
        file.output(name)
    return bytes(file.model().SerializeToString())


def damaged(data: bytes, rng: Rng, *, most: int = 4) -> bytes:
    """Return a file with one to ``most`` of its parts changed, or in one of eight cases with other bytes."""
    if rng.random() < 0.125:
        changed = np.frombuffer(data, np.uint8).copy()
        for offset in rng.integers(0, len(changed), rng.integers(1, 6)):
            changed[offset] = rng.choice([0, 1, 127, 128, 255, rng.integers(256)])
        return changed[: len(changed) if rng.random() < 0.8 else int(rng.integers(len(changed)))].tobytes()
    model = onnx.ModelProto.FromString(data)
    for _ in range(int(rng.integers(1, most + 1))):
        CHANGES[int(rng.integers(len(CHANGES)))](rng, model)
    return bytes(model.SerializeToString())


def _of(rng: Rng, many: Any) -> Any:
    return many[int(rng.integers(len(many)))]


def _names(model: Any) -> list[str]:
    return ["", "x", "nowhere", *(name for node in model.graph.node for name in node.output)]


def _rewired(rng: Rng, model: Any) -> None:
    node = _of(rng, model.graph.node)
    line = _of(rng, [node.input, node.output])
    if line:
        line[int(rng.integers(len(line)))] = _of(rng, _names(model))


def _fewer_or_more_inputs(rng: Rng, model: Any) -> None:
    node = _of(rng, model.graph.node)
    if rng.random() < 0.5 and node.input:
        del node.input[-1]
    else:
        node.input.append(_of(rng, _names(model)))


def _other_operator(rng: Rng, model: Any) -> None:
    node = _of(rng, model.graph.node)
    node.op_type = _of(rng, _OPERATORS)
    node.domain = _of(rng, ["", "", "", "com.microsoft", "of.nobody"])


def _other_attribute(rng: Rng, model: Any) -> None:
    attributes = [attribute for node in model.graph.node for attribute in node.attribute]
    if not attributes:
        return
    attribute = _of(rng, attributes)
    how = int(rng.integers(5))
    if how == 0:
        attribute.i, attribute.f = int(rng.choice(_NUMBERS)), float(rng.choice(_FLOATS))
    elif how == 1:
        attribute.ints[:] = [int(rng.choice(_NUMBERS)) for _ in range(int(rng.integers(0, 9)))]
    elif how == 2:
        attribute.floats[:] = [float(rng.choice(_FLOATS)) for _ in range(int(rng.integers(0, 4)))]
    elif how == 3:
        attribute.type = int(rng.integers(0, 15))
    else:
        attribute.s = _of(rng, [b"", b"SAME_UPPER", b"linear", b"\xff\xfe" * 40, b"NOTSET\0"])


def _new_attribute(rng: Rng, model: Any) -> None:
    name = _of(
        rng, ["axis", "axes", "group", "pads", "strides", "dilations", "perm", "mode", "to", "keepdims", "value"]
    )
    value = _of(rng, [int(rng.choice(_NUMBERS)), [int(rng.choice(_NUMBERS)) for _ in range(4)], "text", [0.5, 1e30]])
    node = _of(rng, model.graph.node)
    node.attribute.append(helper.make_attribute(name, min(value, 2**62) if isinstance(value, int) else value))


def _other_sizes(rng: Rng, model: Any) -> None:
    tensor = _of(rng, model.graph.initializer)
    if tensor.dims and rng.random() < 0.8:
        tensor.dims[int(rng.integers(len(tensor.dims)))] = int(rng.choice(_NUMBERS))
    else:
        tensor.dims.append(int(rng.choice([0, 1, 2])))


def _other_numbers(rng: Rng, model: Any) -> None:
    tensor = _of(rng, model.graph.initializer)
    how = int(rng.integers(3))
    if how == 0:
        tensor.raw_data = tensor.raw_data[: int(rng.integers(len(tensor.raw_data) + 1))]
    elif how == 1 and len(tensor.raw_data) >= 8:
        words = np.frombuffer(tensor.raw_data[: len(tensor.raw_data) // 8 * 8], "<i8").copy()
        words[int(rng.integers(len(words)))] = int(rng.choice(_NUMBERS))
        tensor.raw_data = words.tobytes()
    elif len(tensor.raw_data) >= 4:
        values = np.frombuffer(tensor.raw_data[: len(tensor.raw_data) // 4 * 4], "<f4").copy()
        values[int(rng.integers(len(values)))] = float(rng.choice(_FLOATS))
        tensor.raw_data = values.tobytes()


def _other_type(rng: Rng, model: Any) -> None:
    _of(rng, model.graph.initializer).data_type = int(rng.integers(0, 24))


def _elsewhere(rng: Rng, model: Any) -> None:
    """Move a tensor's data to an external file of this machine."""
    tensor = _of(rng, model.graph.initializer)
    tensor.data_location = 1
    field = tensor.external_data.add()
    field.key, field.value = "location", _of(rng, ["/etc/passwd", "../../x", "model.onnx", "/dev/zero", "\0", ""])


def _other_ends(rng: Rng, model: Any) -> None:
    value = _of(rng, [*model.graph.input, *model.graph.output])
    if rng.random() < 0.4:
        value.name = _of(rng, _names(model))
        return
    sizes = value.type.tensor_type.shape.dim
    if not sizes:
        return
    size = _of(rng, sizes)
    if rng.random() < 0.3:
        size.dim_param = _of(rng, ["N", "", "\x1b[2J"])
    else:
        size.dim_value = int(rng.choice(_NUMBERS))


def _other_order(rng: Rng, model: Any) -> None:
    nodes = list(model.graph.node)
    how = int(rng.integers(3))
    if how == 0:
        nodes = [nodes[index] for index in rng.permutation(len(nodes))]
    elif how == 1:
        nodes = nodes[:-1]
    else:
        nodes.append(_of(rng, nodes))
    copies = [type(node).FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(copies)
    if not copies:
        model.graph.node.append(helper.make_node("Identity", ["x"], ["y"]))


def _other_version(rng: Rng, model: Any) -> None:
    if model.opset_import:
        model.opset_import[0].version = int(rng.choice([0, 1, 6, 7, 12, 18, 23, 99, -1]))
    model.ir_version = int(rng.choice([0, 3, 10, 99]))


Change = Callable[[Rng, Any], None]
CHANGES: tuple[Change, ...] = (
    _rewired, _rewired, _fewer_or_more_inputs, _other_operator, _other_operator, _other_attribute, _other_attribute,
    _new_attribute, _other_sizes, _other_sizes, _other_numbers, _other_numbers, _other_type, _elsewhere, _other_ends,
    _other_order, _other_version,
)  # fmt: skip
