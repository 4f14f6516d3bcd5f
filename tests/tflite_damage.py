"""TensorFlow Lite files with a damaged structure: valid parts that do not fit together.

Changed bytes alone nearly always break an offset, which is refused at once. These files are complete, but wrong.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import flatbuffers
import numpy as np
from tflite_files import schema

Rng = np.random.Generator
Change = Callable[[Rng, Any, Any], None]
"""A function that changes a model and its subgraph."""

_NUMBERS = (0, 1, -1, 2, 3, 7, 64, 4096, 2**20, 2**31 - 1, -(2**31))
_SIZES = (0, 1, 2, 3, 5, 1000, 2**16, 2**24, 2**31 - 1, -1)
_BUILTINS = sorted(value for value in vars(schema.BuiltinOperator).values() if isinstance(value, int))
_TYPES = sorted(value for value in vars(schema.TensorType).values() if isinstance(value, int))


def damaged(data: bytes, rng: Rng, *, most: int = 4) -> bytes:
    """Return a file with one to ``most`` of its parts changed."""
    while True:
        model = schema.ModelT.InitFromPackedBuf(bytearray(data), 0)
        for _ in range(int(rng.integers(1, most + 1))):
            CHANGES[int(rng.integers(len(CHANGES)))](rng, model, model.subgraphs[0])
        builder = flatbuffers.Builder(1024)
        try:
            builder.Finish(model.Pack(builder), b"TFL3")
        except (TypeError, struct.error):  # a value that exceeds the field's bits
            continue
        return bytes(builder.Output())


def _pick(rng: Rng, options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def _tensors(indices: Any) -> list[int]:
    return list(indices) if indices is not None else []


def _any_index(rng: Rng, graph: Any) -> int:
    return int(rng.integers(-2, len(graph.tensors) + 2))


def rewire(rng: Rng, model: Any, graph: Any) -> None:
    """Connect an input or an output of an operator to another tensor."""
    operator = _pick(rng, graph.operators)
    inputs, outputs = _tensors(operator.inputs), _tensors(operator.outputs)
    tensor_lists = [tensors for tensors in (inputs, outputs) if tensors]
    if not tensor_lists:
        return
    tensors = _pick(rng, tensor_lists)
    tensors[int(rng.integers(len(tensors)))] = _any_index(rng, graph)
    operator.inputs, operator.outputs = inputs, outputs


def _fewer_or_more_inputs(rng: Rng, model: Any, graph: Any) -> None:
    operator = _pick(rng, graph.operators)
    inputs = _tensors(operator.inputs)
    operator.inputs = inputs[:-1] if rng.random() < 0.5 else [*inputs, _any_index(rng, graph)]


def _other_shape(rng: Rng, model: Any, graph: Any) -> None:
    tensor = _pick(rng, graph.tensors)
    shape = list(tensor.shape if tensor.shape is not None else [])
    choice = int(rng.integers(4))
    if choice == 0 and shape:
        shape[int(rng.integers(len(shape)))] = int(rng.choice(_SIZES))
    elif choice == 1:
        shape.insert(int(rng.integers(len(shape) + 1)), int(rng.choice([1, 2, 3])))
    elif choice == 2:
        shape = shape[:-1]
    else:
        shape = shape[::-1]
    tensor.shape = shape


def _free_shape(rng: Rng, model: Any, graph: Any) -> None:
    tensor = _pick(rng, graph.tensors)
    shape = list(tensor.shape if tensor.shape is not None else [])
    tensor.shapeSignature = [-1 if rng.random() < 0.5 else size for size in shape]


def _other_type(rng: Rng, model: Any, graph: Any) -> None:
    _pick(rng, graph.tensors).type = int(rng.choice(_TYPES))


def _other_buffer(rng: Rng, model: Any, graph: Any) -> None:
    _pick(rng, graph.tensors).buffer = int(rng.integers(0, len(model.buffers) + 1))


def _other_data(rng: Rng, model: Any, graph: Any) -> None:
    buffer = _pick(rng, model.buffers)
    if buffer.data is None or not len(buffer.data):
        return
    data = np.asarray(buffer.data, np.uint8).copy()
    choice = int(rng.integers(4))
    if choice == 0:
        data = data[: int(rng.integers(len(data)))]
    elif choice == 1 and len(data) >= 4:
        words = data[: len(data) // 4 * 4].view("<i4")
        words[int(rng.integers(len(words)))] = int(rng.choice(_NUMBERS))
    elif choice == 2 and len(data) >= 4:
        words = data[: len(data) // 4 * 4].view("<f4")
        words[int(rng.integers(len(words)))] = float(rng.choice([np.nan, np.inf, -np.inf, 1e38, 1e-45, 0.0]))
    else:
        data[int(rng.integers(len(data)))] = int(rng.integers(256))
    buffer.data = data


def _other_option(rng: Rng, model: Any, graph: Any) -> None:
    options = _pick(rng, graph.operators).builtinOptions
    fields = [name for name, value in vars(options).items() if isinstance(value, (int, float))] if options else []
    if fields:
        name = str(rng.choice(fields))
        narrow = "ctivation" in name or "adding" in name or name in ("mode", "weightsFormat")
        value: Any = int(rng.integers(0, 7)) if narrow else int(rng.choice(_NUMBERS))
        if isinstance(getattr(options, name), bool):
            value = not getattr(options, name)
        elif isinstance(getattr(options, name), float):
            value = float(rng.choice([0.0, -1.0, 1e30, np.nan, np.inf, 1e-30]))
        setattr(options, name, value)


def _no_options(rng: Rng, model: Any, graph: Any) -> None:
    operator = _pick(rng, graph.operators)
    operator.builtinOptions, operator.builtinOptionsType = None, 0


def _other_operator(rng: Rng, model: Any, graph: Any) -> None:
    code = _pick(rng, model.operatorCodes)
    code.builtinCode = int(rng.choice(_BUILTINS))
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)


def _custom_operator(rng: Rng, model: Any, graph: Any) -> None:
    code = _pick(rng, model.operatorCodes)
    code.builtinCode, code.deprecatedBuiltinCode = (schema.BuiltinOperator.CUSTOM,) * 2
    code.customCode = _pick(rng, [b"", b"Mine", b"\xff\xfe" * 40, b"Convolution2DTransposeBias"])


def _other_order(rng: Rng, model: Any, graph: Any) -> None:
    choice = int(rng.integers(3))
    if choice == 0:
        graph.operators = [graph.operators[index] for index in rng.permutation(len(graph.operators))]
    elif choice == 1:
        graph.operators = graph.operators[:-1] or graph.operators
    else:
        graph.operators = [*graph.operators, _pick(rng, graph.operators)]


def _other_ends(rng: Rng, model: Any, graph: Any) -> None:
    if rng.random() < 0.5:
        graph.outputs = [_any_index(rng, graph) for _ in range(int(rng.integers(0, 4)))]
    else:
        graph.inputs = [_any_index(rng, graph) for _ in range(int(rng.integers(0, 4)))]


def _other_quantization(rng: Rng, model: Any, graph: Any) -> None:
    tensor, quantization = _pick(rng, graph.tensors), schema.QuantizationParametersT()
    count = int(rng.choice([1, 1, 3, 4, 1000]))
    scale = float(rng.choice([0.0, -1.0, np.nan, np.inf, 1e-30, 1e30, 0.1]))
    quantization.scale = np.full(count, scale, np.float32)
    quantization.zeroPoint = np.full(
        int(rng.choice([0, 1, count])), int(rng.choice([0, 128, -128, 300, 2**40])), np.int64
    )
    quantization.quantizedDimension = int(rng.choice([0, 3, -1, 9]))
    tensor.quantization = quantization
    if rng.random() < 0.7:
        tensor.type = int(rng.choice([schema.TensorType.INT8, schema.TensorType.UINT8]))


def _sparse(rng: Rng, model: Any, graph: Any) -> None:
    sparsity = schema.SparsityParametersT()
    count = int(rng.integers(0, 5))
    sparsity.traversalOrder = rng.integers(-1, 5, count).tolist()
    sparsity.blockMap = rng.integers(-1, 5, int(rng.integers(0, 3))).tolist()
    sparsity.dimMetadata = []
    for _ in range(count):
        level = schema.DimensionMetadataT()
        level.format, level.denseSize = 0, int(rng.choice(_SIZES))
        sparsity.dimMetadata.append(level)
    _pick(rng, graph.tensors).sparsity = sparsity


def _more_subgraphs(rng: Rng, model: Any, graph: Any) -> None:
    model.subgraphs = [graph] * int(rng.choice([2, 3, 40]))


CHANGES: tuple[Change, ...] = (
    rewire, rewire, _fewer_or_more_inputs, _other_shape, _other_shape, _other_shape, _free_shape, _other_type,
    _other_buffer, _other_data, _other_data, _other_data, _other_option, _other_option, _no_options, _other_operator,
    _other_operator, _custom_operator, _other_order, _other_ends, _other_quantization, _sparse, _more_subgraphs,
)  # fmt: skip
