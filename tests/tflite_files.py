"""TensorFlow Lite files built for tests, and the results of LiteRT.

made = File()
x = made.input((1, 8, 8, 3))
y = made.conv(x, filters=4)
data = made.bytes([y])
close(data, picture)        # the imported graph against LiteRT
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flatbuffers
import needs
import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Graph, reference
from glsl_infer.graph.picture import input_values, is_picture
from glsl_infer.importers.tflite.file import parse
from glsl_infer.importers.tflite.model import Model
from glsl_infer.importers.tflite.reader import to_graph

schema = needs.module("ai_edge_litert.schema_py_generated")

_TYPES = {"f4": "FLOAT32", "f2": "FLOAT16", "i4": "INT32", "i1": "INT8", "u1": "UINT8", "i8": "INT64"}


class File:
    """Builder of a file with one subgraph. Shapes include the batch axis; tensors are numbered."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.graph = schema.SubGraphT()
        self.graph.tensors, self.graph.operators, self.graph.inputs = [], [], []
        self.model = schema.ModelT()
        self.model.version, self.model.description = 3, "made by a test"
        self.model.subgraphs, self.model.operatorCodes = [self.graph], []
        self.model.buffers = [schema.BufferT()]

    def tensor(self, shape: tuple[int, ...], kind: str = "FLOAT32", data: bytes | None = None, name: str = "") -> int:
        tensor = schema.TensorT()
        tensor.shape, tensor.type = list(shape), getattr(schema.TensorType, kind)
        tensor.name = (name or f"t{len(self.graph.tensors)}").encode()
        tensor.buffer, tensor.shapeSignature = 0, None
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(data, np.uint8)
            tensor.buffer = len(self.model.buffers)
            self.model.buffers.append(buffer)
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def input(self, shape: tuple[int, ...] = (1, 8, 8, 3), kind: str = "FLOAT32", name: str = "image") -> int:
        self.graph.inputs.append(self.tensor(shape, kind, name=name))
        return int(self.graph.inputs[-1])

    def constant(self, values: Any, kind: str = "f4") -> int:
        array = np.asarray(values, f"<{kind}")
        return self.tensor(array.shape, _TYPES[kind], array.tobytes())

    def quantize(self, tensor: int, scales: Any, zeros: Any = 0, axis: int = 0) -> int:
        parameters = schema.QuantizationParametersT()
        parameters.scale = np.atleast_1d(np.asarray(scales, np.float32))
        parameters.zeroPoint = np.broadcast_to(np.asarray(zeros, np.int64), parameters.scale.shape)
        parameters.quantizedDimension = axis
        self.graph.tensors[tensor].quantization = parameters
        return tensor

    def op(
        self,
        kind: str,
        inputs: list[int],
        shape: tuple[int, ...],
        options: dict[str, Any] | None = None,
        *,
        name: str = "",
        type_: str = "FLOAT32",
        custom: bytes | None = None,
        version: int = 1,
    ) -> int:
        output = self.tensor(shape, type_, name=name)
        self.several(kind, inputs, [output], options, custom=custom, version=version)
        return output

    def several(
        self,
        kind: str,
        inputs: list[int],
        outputs: list[int],
        options: dict[str, Any] | None = None,
        *,
        custom: bytes | None = None,
        version: int = 1,
    ) -> None:
        code = schema.OperatorCodeT()
        builtin = 32 if custom is not None else getattr(schema.BuiltinOperator, kind)
        code.deprecatedBuiltinCode, code.builtinCode, code.version = min(builtin, 127), builtin, version
        code.customCode = kind.encode() if custom is not None else None
        self.model.operatorCodes.append(code)
        operator = schema.OperatorT()
        operator.opcodeIndex = len(self.model.operatorCodes) - 1
        operator.inputs, operator.outputs = list(inputs), list(outputs)
        if custom is not None:
            operator.customOptions = np.frombuffer(custom, np.uint8)
        for name, fields in (options or {}).items():
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, f"{name}Options")
            operator.builtinOptions = getattr(schema, f"{name}OptionsT")()
            for field, value in fields.items():
                assert hasattr(operator.builtinOptions, field), field
                setattr(operator.builtinOptions, field, value)
        self.graph.operators.append(operator)

    def random(self, *shape: int, spread: float = 0.4) -> int:
        return self.constant(self.rng.normal(0.0, spread, shape))

    def shape(self, tensor: int) -> tuple[int, ...]:
        return tuple(self.graph.tensors[tensor].shape)

    def conv(
        self, x: int, filters: int = 4, kernel: int = 3, stride: int = 1, *, same: bool = True, fused: int = 0
    ) -> int:
        """Add a CONV_2D with random weights."""
        _, height, width, channels = self.shape(x)
        size = [-(-n // stride) if same else (n - kernel) // stride + 1 for n in (height, width)]
        options = {"strideH": stride, "strideW": stride, "dilationHFactor": 1, "dilationWFactor": 1,
                   "padding": 0 if same else 1, "fusedActivationFunction": fused}  # fmt: skip
        weights = [self.random(filters, kernel, kernel, channels), self.random(filters)]
        return self.op("CONV_2D", [x, *weights], (1, *size, filters), {"Conv2D": options})

    def bytes(self, outputs: list[int]) -> bytes:
        self.graph.outputs = list(outputs)
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def parsed(data: bytes) -> Model:
    return parse(data, "made.tflite", "made")


def litert(data: bytes, inputs: dict[str, NDArray[Any]], *, every_tensor: bool = True) -> Any:
    """Return LiteRT after a run on values without a batch axis, as a ``litert_outputs.LiteRt``."""
    import tempfile

    from glsl_infer.tools.validate.litert_outputs import LiteRt

    model = parsed(data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.tflite"
        path.write_bytes(data)
        runner = LiteRt(path, every_tensor=every_tensor)
        runner.run({dict(model.inputs)[name]: np.asarray(value, np.float32) for name, value in inputs.items()})
        return runner


def samples(graph: Graph, seed: int = 0) -> dict[str, NDArray[Any]]:
    """Return random bytes for images, and random values for other inputs."""
    rng = np.random.default_rng(seed)
    return {
        node.name: rng.integers(0, 256, node.attrs["shape"]).astype(np.uint8)
        if is_picture(node)
        else rng.uniform(-1.0, 1.0, node.attrs["shape"]).astype(np.float32)
        for node in graph.inputs
    }


def close(data: bytes, *, tolerance: float = 1e-5, seed: int = 0) -> Graph:
    """Compare the float reference of the imported graph with LiteRT, output by output; return the graph."""
    model = parsed(data)
    graph = to_graph(model)
    images = samples(graph, seed)
    runner = litert(data, {node.name: input_values(node, images[node.name]) for node in graph.inputs})
    results = reference.run(graph, images, mode="float")
    for name, tensor in model.outputs:
        expected = runner.tensor(tensor)
        assert results[name].size == expected.size
        error = np.abs(results[name].ravel() - expected.ravel()).max()
        assert error <= tolerance * max(1.0, np.abs(expected).max()), (name, error)
    return graph
