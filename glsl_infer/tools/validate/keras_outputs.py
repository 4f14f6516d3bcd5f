"""What Keras makes of pictures, layer by layer and in the end: the process that ``glsl-infer validate`` compares with.

``python -m glsl_infer.tools.validate.keras_outputs JOB.json`` (see ``child_process``) writes ``ends-N.npy``, output
number N for every sample, ``layers-N.npz`` with the outputs of the asked layers for the first samples, and
``about.json``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.compiler import optimize
from glsl_infer.cpu import custom
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph
from glsl_infer.graph.host_steps import SOFTMAX
from glsl_infer.graph.picture import is_picture, picture_values
from glsl_infer.importers import keras as importer
from glsl_infer.importers.keras.ends import NO_PICTURE
from glsl_infer.support.child_process import execute, tell

BATCH = 8
"""Pictures at a time: always as many, so that no output depends on how many follow."""

ABOUT = "about.json"


def ends_file(index: int) -> str:
    """Return the name of the file with an output, of every sample."""
    return f"ends-{index}.npy"


def layers_file(index: int) -> str:
    """Return the name of the file with the layers of a picture."""
    return f"layers-{index}.npz"


def computed_nodes(graph: Graph) -> dict[str, str]:
    """Return, for every node of the optimised graph, the node of ``graph`` whose output it computes."""
    return {node.name: (node.name, *node.attrs.get("fused", ()))[-1] for node in optimize.optimize(graph).nodes}


def work(job: dict[str, Any]) -> None:
    """Do a job.

    ``model``; ``inputs``, an *.npy file of samples for each, by name, ``count`` of them; ``numbers``, those of them
    that are maps and no pictures; ``layers`` (names) and ``layer_pictures``; ``outputs`` with ``name``, ``layers`` and
    the number of ``steps`` that the bundle's has; ``input_ranges``; ``operators``, as ``custom.load`` takes them;
    ``out``.
    """
    for operator in job["operators"]:
        custom.load(operator)
    network = importer.load_model(job["model"])
    ranges = {name: tuple(ends) for name, ends in job["input_ranges"].items()}
    graph = importer.to_graph(network, ends=importer.Ends(ranges, dict.fromkeys(job["numbers"], NO_PICTURE)))
    tensors, nodes = importer.tensors_of(network), computed_nodes(graph)
    known = [name for name in job["layers"] if nodes.get(name) in tensors]
    ends = [_end(network, graph, output, nodes, tensors) for output in job["outputs"]]
    given = _given(graph, job["inputs"])
    whole, out = importer.with_outputs(network, [end for end, _ in ends]), Path(job["out"])
    rows: list[list[NDArray[np.float32]]] = [[] for _ in ends]
    for first in range(0, job["count"], BATCH):
        count = min(BATCH, job["count"] - first)
        for row, values in zip(rows, _predicted(whole, _batch(graph, given, first, count, BATCH))):
            row.append(np.asarray(values)[:count])
        tell(count)
    for index, row in enumerate(rows):
        np.save(out / ends_file(index), np.concatenate(row))
    if known:
        parts = importer.with_outputs(network, [tensors[nodes[name]] for name in known])
        for index in range(job["layer_pictures"]):
            outputs = _predicted(parts, _batch(graph, given, index, 1, 1))
            np.savez(out / layers_file(index), **{str(at): np.asarray(value)[0] for at, value in enumerate(outputs)})
            tell(1)
    about = {
        "layers": known,
        "computes": {name: nodes[name] for name in known},
        "softmax": {output["name"]: is_softmax for output, (_, is_softmax) in zip(job["outputs"], ends)},
        "keras": importer.version(),
    }
    (out / ABOUT).write_text(json.dumps(about), "utf-8")


def _predicted(model: Any, batch: list[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
    """Return the outputs of a model; Keras gives the only one of a list alone."""
    outputs = model.predict_on_batch(batch)
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def _end(
    network: Any, graph: Graph, output: Mapping[str, Any], nodes: Mapping[str, str], tensors: Mapping[str, Any]
) -> tuple[Any, bool]:
    """Return the Keras tensor that an output of the bundle is compared with, and whether that is a softmax of it.

    Runners return logits where a softmax ends the network. Where Keras has them only inside a layer with its softmax,
    probabilities are compared.

    Raises:
        InputError: the model has no such output.
    """
    names = [known.name for known in graph.outputs]
    if output["name"] not in names and len(names) > 1:
        raise InputError(f"the model has no output '{output['name']}'; it has: {', '.join(names)}")
    known = graph.outputs[names.index(output["name"])] if output["name"] in names else graph.outputs[0]
    end = importer.outputs_of(network)[known.name]
    if output["steps"] or known.steps or len(output["layers"]) > 1:
        return end, False
    node = nodes.get(output["layers"][0], "")
    if node in tensors:
        return tensors[node], False
    last = graph.by_name[known.layers[0]]
    return end, ops.get(last.op).host_step(last) == SOFTMAX


def _given(graph: Graph, files: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """Return the samples of every input.

    Raises:
        InputError: the model's inputs are not those of the bundle.
    """
    names = [node.name for node in graph.inputs]
    if sorted(names) != sorted(files) and not len(names) == len(files) == 1:
        raise InputError(f"the model has the inputs {', '.join(names)}, and the bundle {', '.join(files)}")
    alone = next(iter(files.values()))
    return {name: np.load(files.get(name, alone), mmap_mode="r") for name in names}


def _batch(
    graph: Graph, given: Mapping[str, NDArray[Any]], first: int, count: int, size: int
) -> list[NDArray[np.float32]]:
    """Return some samples as Keras takes them, with zeros behind them up to ``size``."""
    batches = []
    for node in graph.inputs:
        samples = np.asarray(given[node.name][first : first + count])
        values = picture_values(node, samples) if is_picture(node) else samples
        batch = np.zeros((size, *samples.shape[1:]), np.float32)
        batch[:count] = values
        batches.append(batch)
    return batches


if __name__ == "__main__":
    sys.exit(execute(sys.argv[1:], work))
