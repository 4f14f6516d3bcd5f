"""Job of the process that runs the original model for ``compare``, common to all frameworks.

A job has: ``model``; ``inputs``, an *.npy file of samples for each, by name, ``count`` of them; ``numbers``, the inputs
that are maps but not images; ``pictures``, the ``scales`` and ``zeros`` with which the bundle reads the bytes of each
image; ``layers`` (names) and ``layer_pictures``; ``outputs`` with ``name``, ``layers`` and the
number of ``steps`` of the bundle's output; ``input_ranges``; ``input_shapes`` and ``constants`` set at the export;
``operators``, as for ``cpu.custom.load``; ``imports``, modules of the user; ``out``, a folder.

The process writes there ``ends-N.npy``, output number N for every sample, ``layer-N-L.npy`` with the output of layer L,
one of ``layers``, for each of the first samples, and ``about.json``: ``layers`` found in the model, ``computes``, the
node of each, ``softmax``, whether each output is compared after its softmax, and ``beside``, the framework with its
version. Alternatively, ``about.json`` has only ``refused``: the reason why this importer cannot read the model without
TensorFlow's converter.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.compiler import optimize
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.graph.host_steps import SOFTMAX
from glsl_infer.graph.picture import is_picture, picture_range, picture_values, with_picture_range
from glsl_infer.importers.core.io_options import NO_PICTURE, IoOptions

ABOUT = "about.json"

_SAME_RANGE = 1e-4
"""Largest difference of two equal ranges, relative to their length: scales of a bundle are rounded to 32 bits."""


def outputs_file(index: int) -> str:
    """Return the name of the file with an output of all samples."""
    return f"ends-{index}.npy"


def layer_file(index: int, layer: int) -> str:
    """Return the file name of a layer of a sample, both by index; one file each, so a reader loads one at a time."""
    return f"layer-{index}-{layer}.npy"


def options_of(job: Mapping[str, Any]) -> IoOptions:
    """Return the options of the model's inputs, as at the export. A map that is not an image has no fit."""
    return IoOptions(
        ranges={name: tuple(bounds) for name, bounds in job["input_ranges"].items()},
        fits=dict.fromkeys(job["numbers"], NO_PICTURE),
        shapes={name: tuple(shape) for name, shape in job.get("input_shapes", {}).items()},
        constants=job.get("constants", {}),
    )


def as_exported(graph: Graph, job: Mapping[str, Any]) -> tuple[Graph, dict[str, str]]:
    """Return the graph with the ranges of images that the bundle was exported with, and its ``computed_nodes``.

    The bundle stores the range of an image after all rescaling that was folded into it. This undoes the folding.

    Raises:
        InputError: a range of the user is not that of the bundle.
    """
    optimized, nodes, pictures = optimize.optimize(graph), [], job.get("pictures", {})
    for node in graph.nodes:
        stored = pictures.get(node.name) or (next(iter(pictures.values())) if len(pictures) == 1 else None)
        exported = node
        if stored is not None and node.operator.is_input and is_picture(node) and node.name in optimized.by_name:
            exported = _in_exported_range(node, picture_range(optimized.by_name[node.name]), stored, job)
        nodes.append(exported)
    if nodes != list(graph.nodes):
        graph = graph.rebuilt(nodes)
        optimized = optimize.optimize(graph)
    return graph, _computed(optimized)


def _in_exported_range(
    node: Node, folded: tuple[Sequence[float], Sequence[float]], stored: Mapping[str, Any], job: Mapping[str, Any]
) -> Node:
    """Return an image input with the range of the export; unchanged if that range is its own, or cannot be derived.

    Args:
        node: the input in the model.
        folded: scales and zeros of the input after folding.
        stored: those in the bundle.
        job: the job.
    """
    ends = np.array([[0.0], [255.0]])
    with np.errstate(all="ignore"):
        same_bytes = stored["scales"] * (ends - stored["zeros"]) / np.asarray(folded[0]) + folded[1]
        own, exported = picture_values(node, ends), picture_values(node, same_bytes)
    tolerance = _SAME_RANGE * np.ptp(exported, axis=0).max(initial=0.0)
    if not np.isfinite(exported).all() or np.ptp(exported, axis=1).max() > tolerance:
        return node
    low, high = (float(f"{value:.6g}") for value in exported.mean(axis=1))
    if np.abs(own - exported).max() <= tolerance:
        return node
    ranges = job["input_ranges"]
    key = node.name if node.name in ranges else ""  # the range of the only input needs no name
    if key in ranges:
        name = f"{key}=" if key else ""
        actual, expected = (f"--input-range={name}{start:g},{end:g}" for start, end in (ranges[key], (low, high)))
        raise InputError(f"{actual}: the model was exported with {expected}; leave the option out")
    return with_picture_range(node, (high - low,), (-255.0 * low / (high - low) if low else 0.0,))


def computed_nodes(graph: Graph) -> dict[str, str]:
    """Return, for every node of the optimised graph, the node of ``graph`` whose output it computes."""
    return _computed(optimize.optimize(graph))


def _computed(optimized: Graph) -> dict[str, str]:
    return {node.name: (node.name, *node.attrs.get("fused", ()))[-1] for node in optimized.nodes}


def output_of(graph: Graph, name: str) -> GraphOutput:
    """Return the output of a graph by the bundle's name; a single output can have another name.

    Raises:
        InputError: the model has no such output.
    """
    names = [output.name for output in graph.outputs]
    if name not in names and len(names) > 1:
        raise InputError(f"the model has no output '{name}'; it has: {', '.join(names)}")
    return graph.outputs[names.index(name)] if name in names else graph.outputs[0]


def compared(
    graph: Graph, output: Mapping[str, Any], nodes: Mapping[str, str], tensors: Container[str]
) -> tuple[str, str, bool]:
    """Return which tensor of the model to compare with an output of the bundle.

    Runners return logits if a softmax ends the network. If the framework has no tensor of them, the softmax of the
    bundle's output is compared.

    Args:
        graph: the imported model.
        output: output of the bundle, from the job.
        nodes: result of ``computed_nodes``.
        tensors: nodes whose tensors the framework has.

    Returns:
        The name of the model's output; the node to compare instead, or an empty string; whether to compare the
        softmax of the bundle's output.

    Raises:
        InputError: the model has no such output.
    """
    model_output = output_of(graph, output["name"])
    if output["steps"] or model_output.steps or len(output["layers"]) > 1:
        return model_output.name, "", False
    node = nodes.get(output["layers"][0], "")
    last = graph.by_name[model_output.layers[0]]
    while last.op == "identity" and not last.operator.is_input:  # a change of quantisation
        last = graph.by_name[last.inputs[0]]
    is_softmax = ops.get(last.op).host_step(last) == SOFTMAX
    if is_softmax and node in tensors:
        return model_output.name, node, False
    return model_output.name, "", is_softmax


def write_about(
    job: Mapping[str, Any], layers: Sequence[str], nodes: Mapping[str, str], softmax: Iterable[bool], version: str
) -> None:
    """Write ``about.json``; ``softmax`` has an entry for each output of the job."""
    about = {
        "layers": layers,
        "computes": {name: nodes[name] for name in layers},
        "softmax": {output["name"]: is_softmax for output, is_softmax in zip(job["outputs"], softmax)},
        "beside": version,
    }
    (Path(job["out"]) / ABOUT).write_text(json.dumps(about), "utf-8")


def load_inputs(graph: Graph, files: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """Return the samples of every input.

    Raises:
        InputError: the model's inputs are not those of the bundle.
    """
    names = [node.name for node in graph.inputs]
    if sorted(names) != sorted(files) and not len(names) == len(files) == 1:
        raise InputError(f"the model has the inputs {', '.join(names)}, and the exported model {', '.join(files)}")
    only_file = next(iter(files.values()))
    samples = {name: np.load(files.get(name, only_file), mmap_mode="r") for name in names}
    for node in graph.inputs:
        shape, sample_shape = tuple(node.attrs["shape"]), samples[node.name].shape[1:]
        if _without_ones(shape) != _without_ones(sample_shape):
            model, bundle = ("x".join(map(str, shape)) for shape in (shape, sample_shape))
            raise InputError(
                f"the model reads {model} as '{node.name}', and the exported model {bundle}; give the model that it "
                "was made from"
            )
    return samples


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape without axes of 1, which a framework can omit, such as a grey image's last."""
    return tuple(side for side in shape if side != 1)


def batch(
    graph: Graph, samples: Mapping[str, NDArray[Any]], first: int, count: int, size: int
) -> list[NDArray[np.float32]]:
    """Return a batch of samples of every input for a model, padded with zeros up to ``size``."""
    batches = []
    for node in graph.inputs:
        batch = np.asarray(samples[node.name][first : first + count])
        values = picture_values(node, batch) if is_picture(node) else batch
        filled = np.zeros((size, *batch.shape[1:]), np.float32)
        filled[:count] = values
        batches.append(filled)
    return batches
