"""Reader of TensorFlow Lite files: from bytes to plain data, safe for any bytes."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import MissingExtraError, ModelError
from glsl_infer.importers.core.limits import MOST_OPERATORS, read_bytes
from glsl_infer.importers.tflite.model import Level, Model, Operator, Quantization, Sparsity, Tensor
from glsl_infer.support.plain_text import first_of


def schema() -> Any:
    """Import and return the package.

    Raises:
        MissingExtraError: the package is not installed.
    """
    try:
        import tflite
    except ImportError as error:
        raise MissingExtraError.of(f"the package tflite ({error})", "tflite", "reading a .tflite file") from None
    return tflite


IDENTIFIER = b"TFL3"
LARGEST_FILE = 2**30
_MOST = 65_536
"""Largest number of tensors, operators and buffers."""
_MOST_IN_LIST = 1 << 20
"""Largest number of entries in all lists of the file."""
_MOST_AXES = 8
_DAMAGED = (struct.error, ValueError, IndexError, TypeError, OverflowError, KeyError, AttributeError, AssertionError)
"""Exceptions from reads outside the file, or of data of another type."""
_NAME_LENGTH = 96
_CALLS = ("CALL", "CALL_ONCE", "IF", "WHILE", "STABLEHLO_CASE", "STABLEHLO_COMPOSITE", "STABLEHLO_WHILE")
_SIZES = {"FLOAT32": 4, "FLOAT16": 2, "INT8": 1, "UINT8": 1, "INT16": 2, "INT32": 4, "BOOL": 1}
_MOST_KEPT = 1 << 20
"""Largest number of elements of a variable."""


def read_model(path: str | Path) -> Model:
    """Read a file.

    Raises:
        ModelError: the file is missing, damaged, not a TensorFlow Lite file, or has control flow.
        MissingExtraError: the package ``tflite`` is not installed.
    """
    path = Path(path)
    data = read_bytes(path, ".tflite", LARGEST_FILE)
    return parse(data, str(path), path.stem)


def parse(data: bytes, source: str, name: str = "model") -> Model:
    """Return the content of a file.

    Args:
        data: the bytes of the file.
        source: name of the file in messages.
        name: of the model.

    Raises:
        ModelError: as in ``read_model``.
        MissingExtraError: as in ``read_model``.
    """
    tflite = schema()
    if data[4:8] != IDENTIFIER:
        raise ModelError(f"{source}: not a TensorFlow Lite file: its bytes 4 to 7 are not {IDENTIFIER.decode()}")
    try:
        return _Reader(tflite, data, source).model(name)
    except _DAMAGED as error:
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise ModelError(f"{source}: a damaged TensorFlow Lite file ({reason}); get it anew") from None


def _state_bytes(kind: str, shape: tuple[int, ...]) -> int:
    """Return the size of a variable in bytes."""
    count = math.prod(shape)
    if kind not in _SIZES or count > _MOST_KEPT:
        raise ValueError(f"a variable of {count} numbers of type {kind}")
    return count * _SIZES[kind]


class _Reader:
    """Reader of one file, with a limit of the number of entries."""

    def __init__(self, tflite: Any, data: bytes, source: str) -> None:
        self._tflite, self._data, self._source = tflite, data, source
        self._remaining_entries = _MOST_IN_LIST
        self._kinds = _names(tflite.BuiltinOperator)
        self._types = _names(tflite.TensorType)
        self._options = _names(tflite.BuiltinOptions)

    def model(self, name: str) -> Model:
        model = self._tflite.Model.GetRootAs(self._data, 0)
        if model.SubgraphsLength() < 1:
            raise ValueError("it has no subgraph")
        graph = model.Subgraphs(0)
        buffers = [self._buffer(buffer) for buffer in self._all(model.Buffers, model.BuffersLength())]
        tensors = tuple(self._tensor(tensor, buffers) for tensor in self._all(graph.Tensors, graph.TensorsLength()))
        codes = [self._code(code) for code in self._all(model.OperatorCodes, model.OperatorCodesLength())]
        if graph.OperatorsLength() > MOST_OPERATORS:
            raise ModelError(f"{self._source}: has more than {MOST_OPERATORS:,} operators")
        records = self._all(graph.Operators, graph.OperatorsLength())
        operators = tuple(self._operator(record, codes, len(tensors)) for record in records)
        self._require_no_calls(operators, tensors)
        inputs = self._indices(graph.InputsAsNumpy(), len(tensors), "the inputs")
        outputs = self._indices(graph.OutputsAsNumpy(), len(tensors), "the outputs")
        if not inputs or not outputs or min((*inputs, *outputs)) < 0:
            raise ValueError("it has no inputs or no outputs")
        input_names, output_names, others = self._signatures(model)
        named_inputs, named_outputs = _named(inputs, tensors, input_names), _named(outputs, tensors, output_names)
        return Model(name, tensors, operators, named_inputs, named_outputs, others)

    def _require_no_calls(self, operators: tuple[Operator, ...], tensors: tuple[Tensor, ...]) -> None:
        """Refuse operators that run other subgraphs. The message names the first ones."""
        calls = [operator for operator in operators if operator.kind in _CALLS and not operator.custom]
        if calls:
            names = first_of([f"{call.kind} '{tensors[max(call.outputs, default=0)].name:.60}'" for call in calls])
            raise ModelError(
                f"{self._source}: {names}: operators that run other subgraphs cannot be exported; convert the "
                "model with loops unrolled (Keras: LSTM(..., unroll=True)) and conditions decided, or a function of it "
                "without them"
            )

    def _all(self, get: Callable[[int], Any], count: int) -> Iterator[Any]:
        self._count(count, _MOST)
        return (get(index) for index in range(count))

    def _count(self, count: int, most: int = _MOST_IN_LIST) -> None:
        """Refuse implausibly long lists: in a damaged file, all their entries can refer to the same bytes."""
        self._remaining_entries -= count
        if count > most or self._remaining_entries < 0:
            raise ValueError("its lists are longer than any network's")

    def _list(self, values: Any) -> NDArray[np.int64]:
        if not isinstance(values, np.ndarray):  # the accessor returns 0 if the file does not have the list
            return np.zeros(0, np.int64)
        self._count(len(values))
        return values.astype(np.int64)

    def _indices(self, values: Any, count: int, what: str) -> tuple[int, ...]:
        indices = tuple(self._list(values).tolist())
        if any(not -1 <= index < count for index in indices):
            raise ValueError(f"{what} name a tensor that is not there")
        return indices

    def _buffer(self, buffer: Any) -> memoryview | None:
        if buffer.Offset() > 1:
            start, size = buffer.Offset(), buffer.Size()
            if start + size > len(self._data):
                raise ValueError("weights are beyond the end of the file")
            return memoryview(self._data)[start : start + size]
        data = buffer.DataAsNumpy()
        return data.data if isinstance(data, np.ndarray) and len(data) else None

    def _tensor(self, tensor: Any, buffers: list[memoryview | None]) -> Tensor:
        shape = tuple(self._list(tensor.ShapeAsNumpy()).tolist())
        signature = tuple(self._list(tensor.ShapeSignatureAsNumpy()).tolist())
        if len(shape) > _MOST_AXES or any(not 0 <= size < 2**31 for size in shape):
            raise ValueError(f"a tensor of shape {shape}")
        free = tuple(axis for axis, size in enumerate(signature) if axis and size < 0)
        data, kind = buffers[tensor.Buffer()], self._types[tensor.Type()]
        if data is None and tensor.IsVariable():  # a variable starts at zero in every frame
            data = memoryview(bytes(_state_bytes(kind, shape)))
        if data is None and 0 in shape and not free:  # empty constants, such as a scalar's shape, lack a buffer
            data = memoryview(b"")
        return Tensor(
            _text(tensor.Name()),
            shape,
            free,
            kind,
            data,
            self._quantization(tensor.Quantization()),
            self._sparsity(tensor.Sparsity()),
        )

    def _quantization(self, table: Any) -> Quantization | None:
        if table is None or not table.ScaleLength():
            return None
        self._count(table.ScaleLength() + table.ZeroPointLength())
        scales = np.asarray(table.ScaleAsNumpy(), np.float64)
        zeros = np.asarray(table.ZeroPointAsNumpy(), np.float64)
        zeros = zeros if zeros.ndim and zeros.size else np.zeros(1)
        if zeros.size not in (1, scales.size) or not np.isfinite(scales).all():
            raise ValueError("a tensor's scales and zero points do not fit together")
        return Quantization(scales, np.broadcast_to(zeros, scales.shape), table.QuantizedDimension())

    def _sparsity(self, table: Any) -> Sparsity | None:
        if table is None:
            return None
        levels = tuple(self._level(level) for level in self._all(table.DimMetadata, table.DimMetadataLength()))
        order = tuple(self._list(table.TraversalOrderAsNumpy()).tolist())
        return Sparsity(order, tuple(self._list(table.BlockMapAsNumpy()).tolist()), levels)

    def _level(self, table: Any) -> Level:
        if table.Format() == self._tflite.DimensionType.DENSE:
            return Level(table.DenseSize())
        segments = self._values(table.ArraySegments(), table.ArraySegmentsType())
        indices = self._values(table.ArrayIndices(), table.ArrayIndicesType())
        return Level(0, segments, indices)

    def _values(self, table: Any, kind: int) -> NDArray[np.int64]:
        name = _names(self._tflite.SparseIndexVector)[kind]
        vector = getattr(self._tflite, name)()
        vector.Init(table.Bytes, table.Pos)
        return self._list(vector.ValuesAsNumpy())

    def _code(self, code: Any) -> tuple[str, bool]:
        if code.CustomCode():
            return _text(code.CustomCode()), True
        number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        return self._kinds.get(number, f"operator {number}"), False

    def _operator(self, record: Any, codes: list[tuple[str, bool]], tensors: int) -> Operator:
        kind, custom = codes[record.OpcodeIndex()]
        inputs = self._indices(record.InputsAsNumpy(), tensors, f"the inputs of {kind}")
        outputs = self._indices(record.OutputsAsNumpy(), tensors, f"the outputs of {kind}")
        options: dict[str, Any] = {}
        table = record.BuiltinOptions()
        if table is not None:
            reader = getattr(self._tflite, self._options[record.BuiltinOptionsType()])()
            reader.Init(table.Bytes, table.Pos)
            options = self._fields(reader)
        data = record.CustomOptionsAsNumpy() if custom and record.CustomOptionsLength() else np.zeros(0, np.uint8)
        return Operator(kind, custom, inputs, outputs, options, data.tobytes())

    def _fields(self, reader: Any) -> dict[str, Any]:
        """Return all options of an operator: numbers, and lists of numbers under their name and ``AsNumpy``."""
        fields: dict[str, Any] = {}
        for name, method in vars(type(reader)).items():
            if callable(method) and method.__code__.co_argcount == 1 and not name.endswith(("IsNone", "Length")):
                value = method(reader)
                fields[name] = tuple(self._list(value).tolist()) if name.endswith("AsNumpy") else value
        return fields

    def _signatures(self, model: Any) -> tuple[dict[int, str], dict[int, str], tuple[str, ...]]:
        """Return the names of inputs and outputs in the signature, by tensor, and the names of other functions."""
        signatures = list(self._all(model.SignatureDefs, model.SignatureDefsLength()))
        main = next((signature for signature in signatures if signature.SubgraphIndex() == 0), None)
        others = tuple(_text(other.SignatureKey()) for other in signatures if other.SubgraphIndex() != 0)
        if main is None:
            return {}, {}, others
        inputs = self._tensor_names(main.Inputs, main.InputsLength())
        return inputs, self._tensor_names(main.Outputs, main.OutputsLength()), others

    def _tensor_names(self, get: Callable[[int], Any], count: int) -> dict[int, str]:
        """Return the names in a list of a signature, by tensor."""
        return {named.TensorIndex(): _text(named.Name()) for named in self._all(get, count)}


def clean(name: str) -> str:
    """Return a tensor's name as a layer name: the first of merged names, without additions by converters."""
    name = name.partition(";")[0].removesuffix(":0").removeprefix("serving_default_")
    return name[:_NAME_LENGTH] or "layer"


def _named(indices: tuple[int, ...], tensors: tuple[Tensor, ...], names: dict[int, str]) -> tuple[tuple[str, int], ...]:
    """Return (name, tensor) of each index, with unique names from the signature or else from the tensors."""
    named: list[tuple[str, int]] = []
    used: set[str] = set()
    for index in indices:
        name = plain_name = names.get(index) or clean(tensors[index].name)
        suffix = 0
        while name in used:
            suffix += 1
            name = f"{plain_name}~{suffix}"
        used.add(name)
        named.append((name, index))
    return tuple(named)


def _names(enumeration: Any) -> dict[int, str]:
    return {value: name for name, value in vars(enumeration).items() if isinstance(value, int)}


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode("utf-8", "replace")[:4096]
