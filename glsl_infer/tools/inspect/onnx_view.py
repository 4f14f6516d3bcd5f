"""Graph of a bundle as an ONNX file for Netron and other viewers. It cannot be executed.

Its operators are the engine's own, in a separate domain. Shapes are those of the engine, without a batch axis: (height,
width, channels) or (length,).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from glsl_infer import __version__
from glsl_infer.bundle import Bundle
from glsl_infer.errors import InputError, MissingExtraError
from glsl_infer.graph import Graph
from glsl_infer.graph.node import Shape
from glsl_infer.support.json_values import plain
from glsl_infer.tools.inspect import inspection
from glsl_infer.tools.inspect.bundle_page import range_of

DOMAIN = "glsl_infer"
"""Domain of every operator. A host step of an output is ``host_`` and the step's name."""

LARGEST = 2_000_000_000
"""Largest file in bytes, a limit of protobuf."""

_IR = 8
"""Version of ONNX's file format: old enough for old viewers."""

_INTEGERS = 1 << 63
"""Exclusive limit of the magnitude of an integer attribute."""


def onnx_view(bundle: Bundle) -> bytes:
    """Return the file.

    Every node has its layer's attributes, and also ``gpu_stored``, ``gpu_passes``, ``gpu_programs``, ``gpu_pixels`` and
    ``gpu_textures``, and ``range_low`` and ``range_high``: the smallest and largest value of its output's range.

    Raises:
        BundleError: layers and weights do not fit together.
        MissingExtraError: onnx is not installed.
        InputError: the weights are larger than such a file can be.
    """
    onnx = _onnx()
    graph = bundle.graph
    size = sum(weight.nbytes for node in graph.nodes for weight in node.weights.values())
    if size > LARGEST:
        raise InputError(f"{bundle.path}: {size / 1e9:.1f} GB of weights; an ONNX file has at most {LARGEST / 1e9:g}")
    return _Writer(onnx, bundle, graph).model()


def _onnx() -> Any:
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise MissingExtraError.of(f"the package onnx ({error})", "onnx", "--onnx-view") from None
    return onnx


class _Writer:
    """Builder of the lists of an ONNX graph."""

    def __init__(self, onnx: Any, bundle: Bundle, graph: Graph) -> None:
        self.onnx, self.bundle, self.graph = onnx, bundle, graph
        self.rows = {row["layer"]: row for row in inspection.inspect(bundle)["layers"]}
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.values: list[Any] = []
        self.weights: list[Any] = []
        self.names = {node.name for node in graph.nodes}

    def model(self) -> bytes:
        """Return the file."""
        helper = self.onnx.helper
        for node in self.graph.nodes:
            self._node(node)
        for output in self.graph.outputs:
            self._output(output)
        onnx_graph = helper.make_graph(
            self.nodes, self.bundle.manifest.name, self.inputs, self.outputs, self.weights, value_info=self.values
        )
        model = helper.make_model(
            onnx_graph,
            ir_version=_IR,
            opset_imports=[helper.make_opsetid(DOMAIN, 1)],
            producer_name="glsl-infer",
            producer_version=__version__,
            doc_string="A view of a .glslnn bundle: only to look at. Shapes have no batch axis; maps are "
            "(height, width, channels).",
        )
        data: bytes = model.SerializeToString(deterministic=True)
        return data

    def _node(self, node: Any) -> None:
        settings = _attributes({**node.attrs, **self._drawn(node.name)})
        if node.operator.is_input:
            value = self._value(node.name, self.graph.shapes[node.name])
            value.doc_string = ", ".join([node.op, *(f"{key} {_text(value)}" for key, value in settings.items())])
            self.inputs.append(value)
            return
        names = [self._unused(f"{node.name}/{key}") for key in node.weights]
        for name, weight in zip(names, node.weights.values()):
            self.weights.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(weight, np.float32), name))
        self.nodes.append(
            self.onnx.helper.make_node(
                node.op, [*node.inputs, *names], [node.name], name=node.name, domain=DOMAIN, **settings
            )
        )
        if node.name not in {output.name for output in self.graph.outputs if not output.steps}:
            self.values.append(self._value(node.name, self.graph.shapes[node.name]))

    def _output(self, output: Any) -> None:
        """Add the host steps of an output, and the output after them."""
        names, name = list(output.layers), ""
        for index, step in enumerate(output.steps):
            last = index + 1 == len(output.steps)
            count = 1 if step.step == "concatenate" else len(names)
            outputs = [self._unused(output.name if last else f"{output.name}/{step.step}") for _ in range(count)]
            settings = {"columns": step.columns} if step.columns else {}
            for name, read in zip(outputs, [names] if count == 1 else [[name] for name in names]):
                self.nodes.append(
                    self.onnx.helper.make_node(f"host_{step.step}", read, [name], name=name, domain=DOMAIN, **settings)
                )
            names = outputs
        if names[0] != output.name and not output.steps:  # another name for a layer's output
            name = self._unused(output.name)
            self.nodes.append(self.onnx.helper.make_node("identity", names, [name], name=name, domain=DOMAIN))
            names = [name]
        value = self._value(names[0], self.graph.shape_of(output))
        value.doc_string = self.graph.purpose(output)
        self.outputs.append(value)

    def _drawn(self, name: str) -> dict[str, Any]:
        """Return the attributes about the passes of a layer."""
        row = self.rows.get(name)
        if row is None:
            return {}
        drawn: dict[str, Any] = {f"gpu_{key}": row[key] for key in ("stored", "passes", "programs", "pixels")}
        value = self.bundle.values.get(name) if row["textures"] else None
        bounds = range_of(value)
        if bounds is not None:
            drawn.update(range_low=bounds[0], range_high=bounds[1], gpu_textures=tuple(row["textures"]))
        return drawn

    def _value(self, name: str, shape: Shape) -> Any:
        return self.onnx.helper.make_tensor_value_info(name, self.onnx.TensorProto.FLOAT, list(shape))

    def _unused(self, base: str) -> str:
        name, suffix = base, 1
        while name in self.names:
            suffix += 1
            name = f"{base} ({suffix})"
        self.names.add(name)
        return name


def _attributes(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes in ONNX's types: numbers, strings, and homogeneous lists. None and empty lists are omitted."""
    attributes = {key: _attribute(plain(value)) for key, value in attrs.items()}
    return {key: value for key, value in attributes.items() if value not in (None, [])}


def _attribute(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        if all(isinstance(item, str) for item in value):
            return list(value)
        if all(isinstance(item, int) and abs(item) < _INTEGERS for item in value):
            return [int(item) for item in value]
        if all(isinstance(item, (int, float)) for item in value):
            return [float(item) for item in value]
        return _text(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value if abs(value) < _INTEGERS else float(value)
    return value if isinstance(value, (float, str)) or value is None else _text(value)


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
