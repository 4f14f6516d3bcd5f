"""Import of an ONNX file as a graph.

The importer does not depend on GPU limits: it imports every model expressible as a graph. Operators without shader
support are refused later, by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph
from glsl_infer.importers.core.io_options import IoOptions, Range, with_file_ranges
from glsl_infer.importers.core.report import ImportReport
from glsl_infer.importers.onnx import output_tails
from glsl_infer.importers.onnx.file import parse, read_model
from glsl_infer.importers.onnx.model import Model, Sizes
from glsl_infer.importers.onnx.view import View
from glsl_infer.importers.onnx.walk import Walk

Source = Union[str, Path, Any]
"""A file by its path, or an ``onnx.ModelProto``."""


@dataclass(frozen=True)
class Imported:
    """A model, and the mapping between the file's tensors and the graph's.

    Attributes:
        survey: the report on each operator, and the graph.
        inputs: the file's tensor of each input, by the graph's name.
        outputs: the file's tensor of each output, by its name.
        tensors: the file's tensor that each node computes, by the node's name.
        names: the names of these tensors in the file.
        spans: the value ranges of 8-bit inputs in the file, by the graph's names.
        constants: the inputs of the file that became constants, by their names in the file.
    """

    survey: ImportReport
    inputs: Mapping[str, View]
    outputs: Mapping[str, View]
    tensors: Mapping[str, View]
    names: Mapping[str, str]
    spans: Mapping[str, Range]
    constants: Mapping[str, NDArray[Any]]

    def stored_input(self, name: str, values: NDArray[Any]) -> NDArray[Any]:
        """Return an array in the file's shape as the graph's input of this name stores it."""
        view, graph = self.inputs[name], self.survey.whole()
        stored: NDArray[Any] = np.ascontiguousarray(view.as_stored(np.asarray(values)).reshape(graph.shapes[view.node]))
        return stored

    def file_output(self, name: str, values: NDArray[Any]) -> NDArray[Any]:
        """Return an output of the graph in the file's shape."""
        return self.outputs[name].as_in_file(np.asarray(values))


def load(source: Source, input_range: Range | None = None, io_options: IoOptions | None = None) -> Graph:
    """Read an ``.onnx`` file, or an ``onnx.ModelProto``, and return its graph; see ``to_graph``.

    Raises:
        ModelError: the file is missing, damaged or not an ONNX file, or an operator is not supported (by name).
        InputError: ``input_range`` or ``io_options`` do not fit the model.
        MissingExtraError: the package ``onnx`` is not installed.
    """
    return survey(source, input_range, io_options).whole()


def survey(source: Source, input_range: Range | None = None, io_options: IoOptions | None = None) -> ImportReport:
    """Read a model and return the report: for each operator, where it runs, or why it cannot be exported.

    Args: as for ``to_graph``.

    Raises:
        ModelError: the file is missing, damaged or not an ONNX file.
        MissingExtraError: the package ``onnx`` is not installed.
    """
    return imported(source, input_range, io_options).survey


def imported(source: Source, input_range: Range | None = None, io_options: IoOptions | None = None) -> Imported:
    """Return the same as ``survey``, with the mapping between the file's tensors and the graph's."""
    io_options = io_options or IoOptions()
    if not isinstance(source, (str, Path)):
        return _imported(parse(source), input_range, io_options)
    return _imported(read_model(source), input_range, io_options)


def declared(path: str | Path) -> dict[str, Sizes | None]:
    """Return the shapes of a file's inputs as declared, by name."""
    return {value.name: value.shape for value in read_model(path).inputs}


def tensors(path: str | Path) -> set[str]:
    """Return the names of all tensors that operators of a file compute."""
    return set(read_model(path).tensors)


def to_graph(model: Model, input_range: Range | None = None, io_options: IoOptions | None = None) -> Graph:
    """Return the graph of a file.

    Inputs and outputs have the file's names. An input of 1, 3 or 4 channels is an image; any other is a plain tensor.
    The ranges of a quantised file stay with its layers.

    Args:
        model: the result of ``file.read_model``.
        input_range: the values of byte 0 and byte 255 of the image. Default: the range in a quantised file, else
            (0, 1).
        io_options: options for inputs and outputs, including open sizes.

    Raises:
        ModelError: unsupported operators. The message names them and the required change.
        InputError: ``input_range`` or ``io_options`` do not fit the model.
    """
    return _imported(model, input_range, io_options or IoOptions()).survey.whole()


def _imported(model: Model, input_range: Range | None, io_options: IoOptions) -> Imported:
    walk = Walk(model, io_options)
    outputs = list(io_options.outputs) or [output.name for output in model.outputs]
    walk.import_outputs(outputs)
    builder = walk.builder
    views: dict[str, View] = {}
    problems: list[InputError] = []
    for name in outputs:
        try:
            view = walk.value(name)
        except ModelError as error:
            problems.append(error)
            continue
        if view is not None:
            views[name] = output_tails.in_bundle_shape(view, builder.free_name(f"{name[:96]}-output"), builder)
    report = builder.report(
        model.name,
        [(name, view.node) for name, view in views.items()],
        lambda graph: with_file_ranges(io_options, graph, input_range, walk.spans),
        problems=problems,
        complete=len(views) == len(outputs),
    )
    inputs = {view.node: view for view in walk.inputs}
    return _of_file(Imported(report, inputs, views, walk.tensors, walk.names, walk.spans, walk.constants), model)


def _of_file(imported: Imported, model: Model) -> Imported:
    """Return an import with only the tensors of the file's main graph, without those of branches and fusions."""
    file_names = model.tensors | {declared.name for declared in model.inputs}
    names = {node: name for node, name in imported.names.items() if name in file_names}
    return replace(imported, tensors={node: imported.tensors[node] for node in names}, names=names)
