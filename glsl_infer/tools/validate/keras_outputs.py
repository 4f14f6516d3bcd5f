"""Outputs of a Keras model, by layer and at its end: the process that ``glsl-infer validate`` compares with.

``python -m glsl_infer.tools.validate.keras_outputs JOB.json`` (see ``child_process``) runs a ``job``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.cpu import custom
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph
from glsl_infer.importers import keras as importer
from glsl_infer.importers import own_modules
from glsl_infer.support.child_process import execute, report_progress
from glsl_infer.tools.validate.job import (
    ABOUT,
    as_exported,
    batch,
    compared,
    layer_file,
    load_inputs,
    options_of,
    outputs_file,
    write_about,
)

Samples = Mapping[str, NDArray[Any]]

BATCH = 8
"""Size of all batches: constant, so outputs do not depend on the number of samples in a batch."""


def work(job: dict[str, Any]) -> None:
    """Run a job; see ``job``."""
    custom.load_all(job["operators"])
    own_modules.remember(job["imports"])
    network = importer.load_model(job["model"])
    options = options_of(job)
    try:
        if not getattr(network, "inputs", None):
            raise ModelError("the model is not functional")
        sizes = {} if options.shapes else _free(network, job["inputs"])
        network = importer.with_sizes(network, sizes, options.shapes)
        imported = importer.to_graph(network, io_options=replace(options, shapes={}))
    except ModelError as error:  # the bundle was made from the result of TensorFlow's converter
        (Path(job["out"]) / ABOUT).write_text(json.dumps({"refused": str(error)}), "utf-8")
        return
    graph, nodes = as_exported(imported, job)
    tensors, model_outputs = importer.tensors_of(network), importer.outputs_of(network)
    samples = load_inputs(graph, job["inputs"])
    output_tensors, softmaxes = [], []
    for output in job["outputs"]:
        name, node, is_softmax = compared(graph, output, nodes, tensors)
        output_tensors.append(tensors[node] if node else model_outputs[name])
        softmaxes.append(is_softmax)
    _save_outputs(network, output_tensors, job, graph, samples)
    layers = [name for name in job["layers"] if nodes.get(name) in tensors]
    if layers:
        _save_layers(network, [tensors[nodes[name]] for name in layers], job, graph, samples)
    write_about(job, layers, nodes, softmaxes, importer.version())


def _save_outputs(network: Any, tensors: list[Any], job: dict[str, Any], graph: Graph, samples: Samples) -> None:
    """Write the values of the model's outputs for all samples, a file for each output."""
    model = importer.with_outputs(network, tensors)
    rows: list[list[NDArray[np.float32]]] = [[] for _ in tensors]
    for first in range(0, job["count"], BATCH):
        count = min(BATCH, job["count"] - first)
        inputs = _in_input_shapes(network, batch(graph, samples, first, count, BATCH))
        for row, values in zip(rows, _predicted(model, inputs)):
            row.append(np.asarray(values)[:count])
        report_progress(count)
    for index, row in enumerate(rows):
        np.save(Path(job["out"]) / outputs_file(index), np.concatenate(row))


def _save_layers(network: Any, tensors: list[Any], job: dict[str, Any], graph: Graph, samples: Samples) -> None:
    """Write the values of layers for the first samples, a file for each sample and layer."""
    model = importer.with_outputs(network, tensors)
    for index in range(job["layer_pictures"]):
        inputs = _in_input_shapes(network, batch(graph, samples, index, 1, 1))
        for position, values in enumerate(_predicted(model, inputs)):
            np.save(Path(job["out"]) / layer_file(index, position), np.asarray(values)[0])
        report_progress(1)


def _in_input_shapes(network: Any, values: list[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
    """Return samples in the shapes of the model's inputs, which can lack the channel axis of a grey image."""
    return [value.reshape(len(value), *tensor.shape[1:]) for value, tensor in zip(values, network.inputs)]


def _free(network: Any, files: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Return (height, width) of the samples for inputs whose size the model leaves open, by name."""
    only_file = next(iter(files.values()))
    shapes = {
        name: np.load(files.get(name, only_file), mmap_mode="r").shape[1:3] for name in importer.open_inputs(network)
    }
    return {name: (int(shape[0]), int(shape[1])) for name, shape in shapes.items()}


def _predicted(model: Any, batch: list[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
    """Return the outputs of a model as a list; Keras returns a single one without a list."""
    outputs = model.predict_on_batch(batch)
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


if __name__ == "__main__":
    sys.exit(execute(sys.argv[1:], work))
