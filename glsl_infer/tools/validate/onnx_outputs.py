"""Outputs of a model in ONNX Runtime, by layer and at its end: the process that ``validate`` compares with.

``python -m glsl_infer.tools.validate.onnx_outputs JOB.json`` (see ``child_process``) runs a ``job``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import InputError, MissingExtraError
from glsl_infer.importers import onnx as importer
from glsl_infer.importers.onnx.file import schema
from glsl_infer.importers.onnx.view import View
from glsl_infer.support.child_process import execute, report_progress
from glsl_infer.tools.validate.job import (
    as_exported,
    batch,
    compared,
    layer_file,
    load_inputs,
    options_of,
    output_of,
    outputs_file,
    write_about,
)

_THREADS = 1
"""One thread, so results are reproducible."""

_BATCH_BYTES = 16 << 20
"""Largest number of elements that ONNX Runtime keeps at a time; more layers are computed in several runs."""


class OnnxRuntime:
    """A file in ONNX Runtime, with tensors by their names in the file.

    Args:
        path: a file accepted by ``importers.onnx``.
        tensors: tensors to return: names of outputs and of tensors between operators.
        shapes: shapes of inputs that replace those of the file.
        constants: values of constant inputs.

    Raises:
        InputError: ONNX Runtime refuses the file.
        MissingExtraError: ONNX Runtime is not installed.
    """

    def __init__(
        self,
        path: str | Path,
        tensors: Sequence[str],
        shapes: Mapping[str, Sequence[int]] | None = None,
        constants: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise MissingExtraError.of(f"ONNX Runtime ({error})", "onnxruntime", "validating an .onnx file") from None
        onnx = schema()
        model = onnx.load(str(path))
        _reshape(model.graph, shapes or {})
        existing = {value.name for value in model.graph.output}
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in tensors if name not in existing)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = _THREADS
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # its exception classes have no common base below Exception
            raise InputError(f"{path}: ONNX Runtime cannot run it ({str(error).splitlines()[0][:200]})") from None
        self._tensors, self._constants = list(tensors), dict(constants or {})
        self._input_types = {argument.name: argument.type for argument in self._session.get_inputs()}

    def run(
        self, inputs: Mapping[str, NDArray[np.float32]], spans: Mapping[str, tuple[float, float]]
    ) -> dict[str, Any]:
        """Return the kept tensors, by name.

        Args:
            inputs: real values, in the file's shapes.
            spans: real values of the smallest and largest integer of 8-bit inputs.
        """
        fed = {name: _stored(self._input_types[name], value, spans.get(name)) for name, value in inputs.items()}
        return dict(zip(self._tensors, self._session.run(self._tensors, {**fed, **self._constants})))

    @staticmethod
    def version() -> str:
        """Return the name and version of ONNX Runtime."""
        import onnxruntime

        return f"ONNX Runtime {onnxruntime.__version__}"


def _reshape(graph: Any, shapes: Mapping[str, Sequence[int]]) -> None:
    """Set shapes of inputs, and remove those of all other tensors, which follow from them."""
    for value in graph.input:
        if value.name in shapes:
            dims = value.type.tensor_type.shape.dim
            del dims[:]
            for size in shapes[value.name]:
                dims.add(dim_value=size)
    if shapes:
        del graph.value_info[:]
        for value in graph.output:
            if value.type.WhichOneof("value") == "tensor_type":
                value.type.tensor_type.ClearField("shape")


def _stored(data_type: str, value: NDArray[np.float32], span: tuple[float, float] | None) -> NDArray[Any]:
    """Return values in an input's type, quantised if it has 8 bits."""
    names = {
        "tensor(uint8)": "uint8",
        "tensor(int8)": "int8",
        "tensor(float16)": "float16",
        "tensor(double)": "float64",
    }
    dtype = np.dtype(names.get(data_type, "float32"))
    if dtype.kind == "f":
        return value.astype(dtype)
    info = np.iinfo(dtype)
    low, high = span or (float(info.min), float(info.max))
    steps = (value - low) / (high - low) * (float(info.max) - float(info.min)) + info.min
    stored: NDArray[Any] = np.clip(np.round(steps), info.min, info.max).astype(dtype)
    return stored


@dataclass(frozen=True)
class _Tensor:
    """A tensor of the file to compare: its name, and its layout as a value of the graph."""

    name: str
    view: View


class _Comparison:
    """The model of a job, its samples, and the runs that compute tensors of it."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = job
        options = options_of(job)
        files = {name: np.load(path, mmap_mode="r") for name, path in job["inputs"].items()}
        sizes = {name: values.shape[1:3] for name, values in files.items() if values.ndim == 4}
        io_options = replace(options, sizes={} if options.shapes else _free(job["model"], sizes))
        outputs = tuple(output["name"] for output in job["outputs"])
        self.imported = importer.imported(job["model"], io_options=_chosen(job["model"], io_options, outputs))
        self.graph, self.nodes = as_exported(self.imported.survey.whole(), job)
        self._samples = load_inputs(self.graph, job["inputs"])
        self._feeds = [self.imported.names[node.name] for node in self.graph.inputs]
        self._spans = {self.imported.names[name]: span for name, span in self.imported.spans.items()}
        views = self.imported.inputs if io_options.shapes else {}
        self._shapes = {self.imported.names[name]: view.shape for name, view in views.items()}

    def tensor_of(self, node: str) -> _Tensor:
        """Return the tensor with the values of a node."""
        return _Tensor(self.imported.names[node], self.imported.tensors[node])

    def outputs(self) -> tuple[list[_Tensor], list[bool]]:
        """Return the tensor to compare with each output of the bundle, and whether a softmax follows it there."""
        tensors, softmaxes = [], []
        for output in self._job["outputs"]:
            name, node, is_softmax = compared(self.graph, output, self.nodes, self.imported.tensors)
            tensors.append(self.tensor_of(node) if node else _Tensor(name, self.imported.outputs[name]))
            softmaxes.append(is_softmax)
        return tensors, softmaxes

    def values(self, tensors: Sequence[_Tensor], count: int) -> Iterator[list[NDArray[Any]]]:
        """Yield the values of tensors, in the layouts of the graph, for each of the first samples.

        Args:
            tensors: the tensors to compute.
            count: number of samples.
        """
        names = list(dict.fromkeys(tensor.name for tensor in tensors))
        runtime = OnnxRuntime(self._job["model"], names, self._shapes, self.imported.constants)
        for index in range(count):
            results = runtime.run(self._inputs(index), self._spans)
            yield [_as_node(tensor.view, results[tensor.name]) for tensor in tensors]

    def _inputs(self, index: int) -> dict[str, NDArray[np.float32]]:
        """Return the inputs of a sample in the shapes of the file, by name."""
        arrays = batch(self.graph, self._samples, index, 1, 1)
        views = [self.imported.inputs[node.name] for node in self.graph.inputs]
        return {feed: view.as_in_file(array[0]) for feed, view, array in zip(self._feeds, views, arrays)}


def work(job: dict[str, Any]) -> None:
    """Run a job; see ``job``."""
    comparison = _Comparison(job)
    graph, nodes, out = comparison.graph, comparison.nodes, Path(job["out"])
    layers = [name for name in job["layers"] if nodes.get(name) in comparison.imported.tensors]
    outputs, softmaxes = comparison.outputs()
    rows: list[list[NDArray[Any]]] = [[] for _ in outputs]
    for values in comparison.values(outputs, job["count"]):
        for row, value in zip(rows, values):
            row.append(np.asarray(value, np.float32))
        report_progress(1)
    groups = _groups([int(np.prod(graph.shapes[nodes[name]])) for name in layers])
    for group in groups:
        tensors = [comparison.tensor_of(nodes[layers[position]]) for position in group]
        for index, values in enumerate(comparison.values(tensors, job["layer_pictures"])):
            for position, value in zip(group, values):
                np.save(out / layer_file(index, position), value)
            if group is groups[-1]:
                report_progress(1)
    for index, (row, output) in enumerate(zip(rows, job["outputs"])):
        shape = graph.shape_of(output_of(graph, output["name"]))
        np.save(out / outputs_file(index), _stacked(row, shape, output["name"]))
    write_about(job, layers, nodes, softmaxes, OnnxRuntime.version())


def _stacked(values: Sequence[NDArray[Any]], shape: Sequence[int], name: str) -> NDArray[Any]:
    """Return the values of an output for all samples as one array, each in the shape of the graph's output.

    Raises:
        InputError: the size of the output depends on the input's content.
    """
    for value in values:
        if value.size != np.prod(shape):
            raise InputError(
                f"output '{name}' has as many rows as the network finds: {value.size} numbers in ONNX Runtime, and "
                f"always {np.prod(shape)} here; compare a bundle that ends before: export --outputs"
            )
    return np.stack([value.reshape(shape) for value in values])


def _as_node(view: View, value: NDArray[Any]) -> NDArray[Any]:
    """Return a tensor in the layout of the graph's node; unchanged if its size depends on the input's content."""
    return view.as_stored(value) if value.size == view.size else value


def _groups(sizes: Sequence[int]) -> list[range]:
    """Return ranges of indices whose sizes add up to at most ``_BATCH_BYTES``, or of a single larger one."""
    groups: list[range] = []
    batch_bytes = 0
    for index, size in enumerate(sizes):
        if groups and batch_bytes + size <= _BATCH_BYTES:
            groups[-1] = range(groups[-1].start, index + 1)
            batch_bytes += size
        else:
            groups.append(range(index, index + 1))
            batch_bytes = size
    return groups


def _free(path: str, sizes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, int]]:
    """Return the sizes of inputs that the file leaves open."""
    declared = importer.declared(path)
    return {name: (size[0], size[1]) for name, size in sizes.items() if None in (declared.get(name) or ())[1:]}


def _chosen(path: str, io_options: importer.IoOptions, outputs: Sequence[str]) -> importer.IoOptions:
    """Return the options with the outputs of the bundle, if they are tensors of the file."""
    names = importer.tensors(path)
    if set(outputs) <= names:
        return replace(io_options, outputs=tuple(outputs))
    return io_options


if __name__ == "__main__":
    sys.exit(execute(sys.argv[1:], work))
