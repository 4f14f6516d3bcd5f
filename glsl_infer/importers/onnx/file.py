"""Reader of ONNX files: from bytes to a ``Model``.

Files are untrusted. For any bytes the result is a model or a ``ModelError``, within limits of size and depth.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from glsl_infer.errors import MissingExtraError, ModelError
from glsl_infer.importers.core.limits import MOST_OPERATORS, read_bytes
from glsl_infer.importers.onnx.contrib import in_onnx
from glsl_infer.importers.onnx.functions import called, inlined
from glsl_infer.importers.onnx.model import Declared, Model, Numbers, Operator, Part, Sizes, in_order
from glsl_infer.importers.onnx.stored import Stored, text


def schema() -> Any:
    """Import and return the package ``onnx``.

    Raises:
        MissingExtraError: the package is not installed.
    """
    try:
        import onnx
        import onnx.numpy_helper
    except ImportError as error:
        raise MissingExtraError.of(f"the package onnx ({error})", "onnx", "reading an .onnx file") from None
    return onnx


LARGEST_FILE = 2**30
"""Largest size of a file without its external data, in bytes."""

MOST_PARTS_DEEP = 16
"""Largest depth of nested graphs."""

_MOST_AXES = 16
_NAME_LENGTH = 256
"""Characters kept of an operator's name."""

DOMAINS = {"": "", "ai.onnx": "", "com.microsoft": "com.microsoft"}
"""Supported domains, by their names in files."""


def read_model(path: str | Path) -> Model:
    """Read a file.

    Raises:
        ModelError: the file is missing, damaged or not an ONNX file.
        MissingExtraError: the package ``onnx`` is not installed.
    """
    path = Path(path)
    onnx = schema()
    data = read_bytes(path, ".onnx", LARGEST_FILE)
    try:
        proto = onnx.ModelProto.FromString(data)
    except Exception as error:  # each installed protobuf version has its own class
        raise ModelError(f"{path}: not an ONNX file, or a damaged one ({_line(error)}); get it anew") from None
    return parse(proto, str(path), path.stem, path.parent)


def parse(proto: Any, source: str = "the model", name: str = "model", folder: Path | None = None) -> Model:
    """Return the content of an ``onnx.ModelProto``.

    Args:
        proto: the model.
        source: name of the file in messages.
        name: of the model.
        folder: the folder for external data; None to refuse external data.

    Raises:
        ModelError: the model is damaged or too large.
    """
    onnx = schema()
    if not proto.HasField("graph") or not (proto.graph.node or proto.graph.output):
        raise ModelError(f"{source}: not an ONNX file, or a damaged one: it has no graph; get it again")
    versions: dict[str, int] = {}
    for opset in proto.opset_import:
        domain = text(opset.domain)
        versions[DOMAINS.get(domain, domain)] = int(opset.version)
    reader = _Reader(onnx, source, Stored(onnx, source, folder), versions)
    try:
        graph = inlined(proto, source, MOST_OPERATORS)
        written = {text(output) for node in proto.graph.node for output in node.output}
        return reader.model(graph, name, frozenset(written - {""}))
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError, UnicodeError) as error:
        raise ModelError(f"{source}: a damaged ONNX file ({_line(error)}); get it anew") from None


def definition(operator: Operator, kinds: Sequence[str], shapes: Sequence[Sequence[int]]) -> Part | None:
    """Return the operators by which ONNX defines another one, or None if ONNX does not define it by others.

    Args:
        operator: of ONNX's own domain, without nested graphs.
        kinds: the types of its inputs.
        shapes: the shapes of its inputs.
    """
    onnx = schema()
    to_tensor = onnx.numpy_helper.from_array
    try:
        defined = onnx.defs.get_schema(operator.kind, operator.opset, "")
        if not (defined.has_function or defined.has_context_dependent_function):
            return None
        options = {key: to_tensor(value()) if callable(value) else value for key, value in operator.attributes.items()}
        node = onnx.helper.make_node(operator.kind, operator.inputs, operator.outputs, **options)
        if not defined.has_context_dependent_function:
            function = defined.function_body
        else:
            types = [onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind or np.float32)) for kind in kinds]
            protos = [
                onnx.helper.make_tensor_type_proto(element_type, shape).SerializeToString()
                for element_type, shape in zip(types, shapes)
            ]
            serialized = defined.get_context_dependent_function_with_opset_version(
                operator.opset, node.SerializeToString(), protos
            )
            function = onnx.FunctionProto.FromString(serialized)
    except Exception:  # from C++, for example because the attributes do not match the operator
        return None
    if not function.node:
        return None
    defaults = [attribute.default_value for attribute in defined.attributes.values() if attribute.default_value.name]
    prefix = f"{next(filter(None, operator.outputs))}/"
    graph = onnx.helper.make_graph(list(called(function, node, prefix, defaults)), operator.kind, [], [])
    return _Reader(onnx, operator.kind, Stored(onnx, operator.kind, None), {"": operator.opset}).part(graph)


def _line(error: Exception) -> str:
    return str(error).splitlines()[0][:120] if str(error) else type(error).__name__


class _Reader:
    """Reader of one model, with a limit of the number of operators."""

    def __init__(self, onnx: Any, source: str, stored: Stored, versions: Mapping[str, int]) -> None:
        self._onnx, self._source, self._stored, self._versions = onnx, source, stored, versions
        self._left = MOST_OPERATORS

    def model(self, graph: Any, name: str, tensors: frozenset[str]) -> Model:
        part = self.part(graph)
        graph_inputs = [value for value in graph.input if text(value.name) not in part.constants]
        sizes = [value.type.tensor_type.shape.dim for value in graph_inputs]
        batches = {text(dims[0].dim_param) for dims in sizes if len(dims) > 1 and dims[0].dim_param}
        inputs = tuple(self._declared(value, batches) for value in graph_inputs)
        outputs = tuple(self._declared(value) for value in graph.output)
        for what, values in (("inputs", inputs), ("outputs", outputs)):
            names = [value.name for value in values]
            if not names or not all(names) or len(set(names)) != len(names):
                raise ModelError(
                    f"{self._source}: its {what} are {names[:8]}; it needs one or more, each with its name"
                )
        declared_values = {text(value.name): self._declared(value) for value in graph.value_info}
        return Model(name, part, inputs, outputs, declared_values, tensors)

    def part(self, graph: Any, depth: int = 0) -> Part:
        """Return the operators and constants of a graph, which is nested in ``depth`` others."""
        if depth > MOST_PARTS_DEEP:
            raise ValueError("graphs inside graphs inside graphs")
        self._left -= len(graph.node) + len(graph.initializer)
        if self._left < 0:
            raise ModelError(f"{self._source}: has more than {MOST_OPERATORS:,} operators and constants")
        constants: dict[str, Callable[[], Numbers]] = {}
        for tensor in graph.initializer:
            constants[text(tensor.name)] = self._stored.tensor(tensor)
        for sparse in graph.sparse_initializer:
            constants[text(sparse.values.name)] = self._stored.sparse(sparse)
        operators = tuple(self._operator(node, depth) for node in graph.node)
        return in_onnx(Part(in_order(operators), constants, tuple(text(value.name) for value in graph.output)))

    def _operator(self, node: Any, depth: int) -> Operator:
        domain = DOMAINS.get(text(node.domain), text(node.domain))
        attributes = {text(attribute.name): self._attribute(attribute, depth) for attribute in node.attribute}
        if node.op_type == "Cast" and isinstance(attributes.get("to"), str):  # before opset 6
            attributes["to"] = self._onnx.TensorProto.DataType.Value(attributes["to"])
        return Operator(
            text(node.op_type),
            domain,
            self._versions.get(domain, 1),
            text(node.name)[:_NAME_LENGTH],
            tuple(map(text, node.input)),
            tuple(map(text, node.output)),
            attributes,
        )

    def _attribute(self, attribute: Any, depth: int) -> Any:
        kinds = self._onnx.AttributeProto
        kind = attribute.type
        if kind == kinds.FLOAT:
            return float(attribute.f)
        if kind == kinds.INT:
            return int(attribute.i)
        if kind == kinds.STRING:
            return attribute.s.decode("utf-8", "replace")
        if kind == kinds.FLOATS:
            return tuple(map(float, attribute.floats))
        if kind == kinds.INTS:
            return tuple(map(int, attribute.ints))
        if kind == kinds.STRINGS:
            return tuple(text.decode("utf-8", "replace") for text in attribute.strings)
        if kind == kinds.TENSOR:
            return self._stored.tensor(attribute.t)
        if kind == kinds.SPARSE_TENSOR:
            return self._stored.sparse(attribute.sparse_tensor)
        return self.part(attribute.g, depth + 1) if kind == kinds.GRAPH else None

    def _declared(self, value: Any, batches: Collection[str] = ()) -> Declared:
        """Return the declaration of a tensor. Axes with the names of batch axes get the size 1."""
        kind = value.type.WhichOneof("value")
        if kind not in (None, "tensor_type"):
            return Declared(text(value.name), None, kind.removesuffix("_type"))
        tensor = value.type.tensor_type
        shape = self._sizes(tensor.shape.dim) if tensor.HasField("shape") else None
        if shape is not None and batches:
            names = [text(size.dim_param) for size in tensor.shape.dim]
            shape = tuple(
                1 if axis and size is None and name in batches else size
                for axis, (size, name) in enumerate(zip(shape, names))
            )
        return Declared(text(value.name), shape, self._stored.type_name(tensor.elem_type))

    def _sizes(self, sizes: Iterable[Any]) -> Sizes:
        known_sizes = tuple(int(size.dim_value) if size.dim_value > 0 else None for size in sizes)
        if len(known_sizes) > _MOST_AXES:
            raise ValueError(f"a tensor of {len(known_sizes)} axes")
        return known_sizes
