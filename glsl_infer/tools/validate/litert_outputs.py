"""Outputs of a model in LiteRT, by layer and at its end: the process that ``glsl-infer validate`` compares with.

``python -m glsl_infer.tools.validate.litert_outputs JOB.json`` (see ``child_process``) runs a ``job``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import InputError, MissingExtraError
from glsl_infer.importers import tflite as importer
from glsl_infer.importers.tflite.constants import Constants
from glsl_infer.importers.tflite.file import read_model
from glsl_infer.importers.tflite.model import Model
from glsl_infer.importers.tflite.shapes import as_given
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


class LiteRt:
    """A file in LiteRT's interpreter. Tensors are addressed by index in the file, with dequantised values.

    Args:
        path: a file accepted by ``importers.tflite``: LiteRT itself crashes on some damaged files.
        every_tensor: whether to keep all tensors instead of the outputs only.
        shapes: shapes, with batch axes, of inputs whose shapes the file leaves open.

    Raises:
        InputError: LiteRT refuses the file.
        MissingExtraError: LiteRT is not installed.
    """

    def __init__(
        self, path: str | Path, *, every_tensor: bool = False, shapes: Mapping[int, Sequence[int]] | None = None
    ) -> None:
        try:
            from ai_edge_litert import interpreter
        except ImportError as error:
            raise MissingExtraError.of(f"LiteRT ({error})", "ai-edge-litert", "validating a .tflite file") from None
        plain = interpreter.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        reasons = []
        for resolver in (plain, interpreter.OpResolverType.AUTO):  # MediaPipe's own operators are in a delegate
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # about the memory of ``preserve_all_tensors``
                    self._interpreter = interpreter.Interpreter(
                        str(path),
                        num_threads=_THREADS,
                        experimental_op_resolver_type=resolver,
                        experimental_preserve_all_tensors=every_tensor,
                    )
                for index, shape in (shapes or {}).items():
                    self._interpreter.resize_tensor_input(index, [int(size) for size in shape])
                self._interpreter.allocate_tensors()
            except (RuntimeError, ValueError) as error:
                reasons.append(str(error).strip().splitlines()[0])
                continue
            break
        else:
            raise InputError(f"{path}: LiteRT cannot run it ({reasons[0]})")
        self._details = {detail["index"]: detail for detail in self._interpreter.get_tensor_details()}

    def run(self, inputs: Mapping[int, NDArray[np.float32]]) -> None:
        """Run the model on arrays with a batch axis, by input index."""
        for index, values in inputs.items():
            detail = self._details[index]
            self._interpreter.set_tensor(index, _stored(detail, values.reshape(detail["shape"])))
        self._interpreter.invoke()

    def tensor(self, index: int) -> NDArray[np.float32] | None:
        """Return the values of a tensor with its batch axis; None if LiteRT has discarded them."""
        try:
            return _real(self._details[index], self._interpreter.get_tensor(index))
        except (KeyError, ValueError):
            return None

    @staticmethod
    def version() -> str:
        """Return the name and version of LiteRT."""
        return f"LiteRT {metadata.version('ai-edge-litert')}"


def _stored(detail: Mapping[str, Any], values: NDArray[np.float32]) -> NDArray[Any]:
    """Return values in a tensor's type, quantised if it is."""
    scale, zero = detail["quantization"]
    dtype = np.dtype(detail["dtype"])
    if dtype.kind == "f" or not scale:
        return values.astype(dtype)
    info = np.iinfo(dtype)
    stored: NDArray[Any] = np.clip(np.round(values / scale) + zero, info.min, info.max).astype(dtype)
    return stored


def _real(detail: Mapping[str, Any], stored: NDArray[Any]) -> NDArray[np.float32]:
    """Return the dequantised values of a tensor."""
    scale, zero = detail["quantization"]
    if stored.dtype.kind == "f" or not scale:
        return stored.astype(np.float32)
    real: NDArray[np.float32] = (np.float32(scale) * (stored.astype(np.int32) - zero)).astype(np.float32)
    return real


def work(job: dict[str, Any]) -> None:
    """Run a job; see ``job``."""
    options = options_of(job)
    full_model = read_model(job["model"])
    model = as_given(full_model, options)
    sizes = _free(model, job["inputs"])
    graph = importer.to_graph(model, io_options=replace(options, sizes=sizes, shapes={}, constants={}))
    tensors, (graph, nodes) = importer.tensors_of(model, sizes), as_exported(graph, job)
    model_outputs, output_tensors, softmaxes = dict(model.outputs), [], []
    for output in job["outputs"]:
        name, node, is_softmax = compared(graph, output, nodes, tensors)
        output_tensors.append(tensors[node] if node else model_outputs[name])
        softmaxes.append(is_softmax)
    samples, model_inputs = load_inputs(graph, job["inputs"]), dict(model.inputs)
    input_tensors = [model_inputs[node.name] for node in graph.inputs]
    if options.shapes:
        shapes = {tensor: model.tensors[tensor].shape for tensor in input_tensors}
    else:
        shapes = {model_inputs[node.name]: (1, *graph.shapes[node.name]) for node in graph.inputs if node.name in sizes}
    constants = {
        tensor: np.asarray(Constants(model)[tensor]) for _, tensor in full_model.inputs if tensor not in input_tensors
    }
    output_shapes = [graph.shape_of(output_of(graph, output["name"])) for output in job["outputs"]]
    runner, out = LiteRt(job["model"], every_tensor=True, shapes=shapes), Path(job["out"])
    rows: list[list[NDArray[np.float32]]] = [[] for _ in output_tensors]
    readable = [name for name in job["layers"] if nodes.get(name) in tensors]
    for index in range(job["count"]):
        runner.run({**constants, **dict(zip(input_tensors, batch(graph, samples, index, 1, 1)))})
        for row, tensor, shape in zip(rows, output_tensors, output_shapes):
            value = _required(runner, tensor, job["model"])
            row.append(value.reshape(shape) if value.size == np.prod(shape) else value[0])  # some have no batch
        report_progress(1)
        if index < job["layer_pictures"]:
            readable = _write_layers(runner, readable, nodes, tensors, out, index)
            report_progress(1)
    for index, row in enumerate(rows):
        np.save(out / outputs_file(index), np.stack(row))
    write_about(job, readable, nodes, softmaxes, runner.version())


def _write_layers(
    runner: LiteRt,
    names: Sequence[str],
    nodes: Mapping[str, str],
    tensors: Mapping[str, int],
    out: Path,
    index: int,
) -> list[str]:
    """Write the layers of a sample that LiteRT has kept; return their names."""
    readable: list[str] = []
    for name in names:
        value = runner.tensor(tensors[nodes[name]])
        if value is not None:
            np.save(out / layer_file(index, len(readable)), value[0])
            readable.append(name)
    return readable


def _required(runner: LiteRt, tensor: int, model: str) -> NDArray[np.float32]:
    value = runner.tensor(tensor)
    if value is None:
        raise InputError(f"{model}: LiteRT does not keep the numbers of tensor {tensor}, which the bundle ends in")
    return value


def _free(model: Model, files: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Return (height, width) of the samples for inputs whose size the file leaves open, by name."""
    only_file = next(iter(files.values()))
    sizes: dict[str, tuple[int, int]] = {}
    for name, index in model.inputs:
        if {1, 2} & set(model.tensors[index].free) and len(model.tensors[index].shape) == 4:
            _, height, width, *_ = np.load(files.get(name, only_file), mmap_mode="r").shape
            sizes[name] = (height, width)
    return sizes


if __name__ == "__main__":
    sys.exit(execute(sys.argv[1:], work))
