"""Import of a TensorFlow Lite file as a graph.

The importer does not depend on GPU limits: it imports every model expressible as a graph. Operators without shader
support are refused later, by name.
"""

from __future__ import annotations

from pathlib import Path

from glsl_infer.graph import Graph
from glsl_infer.importers.core.io_options import IoOptions, Range, with_file_ranges
from glsl_infer.importers.core.report import ImportReport
from glsl_infer.importers.tflite.file import read_model
from glsl_infer.importers.tflite.model import Model
from glsl_infer.importers.tflite.shapes import Sizes, as_given
from glsl_infer.importers.tflite.walk import Walk, span_of
from glsl_infer.support.plain_text import first_of


def load(path: str | Path, input_range: Range | None = None, io_options: IoOptions | None = None) -> Graph:
    """Read a ``.tflite`` file and return its graph, as ``to_graph`` does.

    Raises:
        ModelError: the file is missing, damaged or not a TensorFlow Lite file, or an operator is not supported (by
            name).
        InputError: ``input_range`` or ``io_options`` do not fit the model.
        MissingExtraError: the package ``tflite`` is not installed.
    """
    return survey(path, input_range, io_options).whole()


def read(path: str | Path) -> Graph:
    """Read a ``.tflite`` file and return its graph, as ``load`` does."""
    return load(path)


def survey(path: str | Path, input_range: Range | None = None, io_options: IoOptions | None = None) -> ImportReport:
    """Read a ``.tflite`` file and return the report: for each operator, where it runs, or why it cannot be exported.

    Args: as for ``to_graph``.

    Raises:
        ModelError: the file is missing, damaged or not a TensorFlow Lite file.
        MissingExtraError: the package ``tflite`` is not installed.
    """
    return survey_of(read_model(path), input_range, io_options)


def to_graph(
    model: Model, input_range: Range | None = None, io_options: IoOptions | None = None, *, sizes: Sizes | None = None
) -> Graph:
    """Return the graph of a file.

    Inputs and outputs have the names in the file's signature, or else of their tensors. An input of 1, 3 or 4 channels
    is an image; any other is a plain tensor. The ranges of a quantised file stay with its layers.

    Args:
        model: the result of ``file.read_model``.
        input_range: the values of byte 0 and byte 255 of the image. Default: the range in a quantised file, else
            (0, 1).
        io_options: options for inputs and outputs.
        sizes: (height, width) of inputs with open sizes, by name. An empty name selects all of them.

    Raises:
        ModelError: unsupported operators. The message names them and the required change.
        InputError: ``input_range`` or ``io_options`` do not fit the model.
    """
    return survey_of(model, input_range, io_options, sizes=sizes).whole()


def survey_of(
    model: Model, input_range: Range | None = None, io_options: IoOptions | None = None, *, sizes: Sizes | None = None
) -> ImportReport:
    """Return the same as ``to_graph``, with the refused operators as a part of the result.

    Raises:
        ModelError: the file is damaged.
    """
    options = io_options or IoOptions()
    model = as_given(model, options)
    walk = _walked(model, sizes or options.sizes)
    files = {name: model.tensors[index].shape for name, index in walk.tensors.items()}
    return walk.builder.report(
        model.name,
        [(name, walk.node_of(index)) for name, index in model.outputs],
        lambda graph: with_file_ranges(options, graph, input_range, _input_ranges(model)),
        shapes={
            name: shape[-2:] for name, shape in files.items() if len(shape) == 3 or (len(shape) == 2 and shape[0] != 1)
        },
        warnings=_warnings(model),
    )


def _warnings(model: Model) -> tuple[str, ...]:
    """Return the warning about functions that are not imported, with the first few names."""
    if not model.others:
        return ()
    others = first_of([f"{name:.60}" for name in model.others])
    return (f"the file's first function alone is read, not {others}; convert these to files of their own",)


def tensors_of(model: Model, sizes: Sizes | None = None) -> dict[str, int]:
    """Return the tensor that a node of ``to_graph(model, sizes=sizes)`` computes, by the node's name."""
    return _walked(model, sizes).tensors


def _walked(model: Model, sizes: Sizes | None = None) -> Walk:
    """Return the traversal of an entire file."""
    walk = Walk(model, sizes)
    walk.need([index for _, index in model.outputs])
    walk.import_outputs()
    return walk


def _input_ranges(model: Model) -> dict[str, Range]:
    """Return the ranges of the inputs of a quantised file, including float inputs that only QUANTIZE reads."""
    ranges: dict[str, Range] = {}
    for name, index in model.inputs:
        span = span_of(model.tensors[index])
        readers = [operator for operator in model.operators if index in operator.inputs]
        if span is None and readers and all(operator.kind == "QUANTIZE" and operator.outputs for operator in readers):
            span = span_of(model.tensors[readers[0].outputs[0]])
        if span is not None:
            ranges[name] = span
    return ranges
