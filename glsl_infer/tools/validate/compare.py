"""Comparison of a model with its bundle on the same inputs.

The model's framework runs first, in a separate process (``job``), then the GPU in this one.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer import importers, ops
from glsl_infer.bundle import Bundle
from glsl_infer.bundle.manifest import NUMBERS, PICTURE, Output
from glsl_infer.bundle.network import Layer, NetworkOutput
from glsl_infer.cpu import custom
from glsl_infer.errors import InputError
from glsl_infer.gl import constants as GL
from glsl_infer.graph import GraphOutput, Node
from glsl_infer.graph.host_steps import ARGMAX, softmax
from glsl_infer.importers import own_modules
from glsl_infer.importers.core.io_options import IoOptions
from glsl_infer.ops.on_cpu import Upload
from glsl_infer.ops.operator import ViewOperator
from glsl_infer.program.layout import FeatureMap
from glsl_infer.runtime import selfcheck
from glsl_infer.runtime.session import Session
from glsl_infer.support.child_process import ChildProcess
from glsl_infer.support.progress import CountCallback
from glsl_infer.tools.validate import verdict
from glsl_infer.tools.validate.job import ABOUT, layer_file, outputs_file
from glsl_infer.tools.validate.measures import Agreement
from glsl_infer.tools.validate.verdict import ClippedCount, stored_ranges

_FRAMEWORKS = {
    "keras": ("Keras", "keras_outputs"),
    "onnx": ("ONNX Runtime", "onnx_outputs"),
    "tflite": ("LiteRT", "litert_outputs"),
}
"""Framework for a type of model, and the module of this package that runs it."""


def compare(
    model: Path,
    bundle: Bundle,
    samples: Sequence[Mapping[str, NDArray[Any]]],
    *,
    layer_pictures: int = 4,
    io_options: IoOptions | None = None,
    context: str = "auto",
    is_too_different: Callable[[Mapping[str, Any]], object] = lambda _: False,
    explain: bool = False,
    progress: CountCallback = lambda _: None,
) -> dict[str, Any]:
    """Return the differences between the bundle on this GPU and its model.

    Args:
        model: a saved ``.keras``, ``.onnx`` or ``.tflite`` file.
        bundle: the exported model.
        samples: at least one sample, each with an array for each input by name: images in the network's size, or
            values.
        layer_pictures: number of samples, from the first on, to compare layer by layer.
        io_options: ranges, shapes and constants of inputs, as at the export.
        context: method of creating a context.
        is_too_different: called with the result; returns whether the difference is too large. If so, the exact
            reference computes the first samples too, and the self-check runs (``verdict``).
        explain: whether to find the layer with the largest loss in any case.
        progress: called with 1 after every sample, ``steps`` times.

    Returns:
        - ``pictures``: number of samples; ``framework``: the framework's name; ``beside``: the same with its version;
          ``driver``: a description.
        - ``outputs``: for each, ``name`` and ``Agreement.as_json``; ``softmax``, whether probabilities (of each pixel
          for a map) were compared instead of logits; ``top1``, ``margin`` and ``margin_share`` of a vector; ``same``,
          the share of equal values, of a mask of classes.
        - ``layers``, in order: for each, ``layer``, ``op``, ``computes`` (the model's layer with the same output) and
          ``Agreement.as_json``; ``ClippedCount.as_json`` of maps with their own range.
        - ``not_compared``: inner layers without a counterpart in the model.

        If the difference is too large, also ``judged``, the number of samples that the reference computed; ``wrong``,
        the first layer that fails the self-check, or None; and ``reference_cosine`` and ``driver_cosine`` of each
        output. If it is too large or with ``explain``, also ``loses_most`` (``ranges.sensitivity.Loss``, or None).

    Raises:
        InputError: the files do not belong together, or one cannot be used.
        RunError: the framework or the driver failed.
    """
    io_options, layer_pictures = io_options or IoOptions(), min(layer_pictures, len(samples))
    layers = _compared_layers(bundle)
    ranges = stored_ranges(bundle)
    with tempfile.TemporaryDirectory(prefix="glsl-infer-") as name:
        folder = Path(name)
        comparison = _Comparison(bundle, samples, layers, layer_pictures, io_options)
        model_run = _in_framework(model, comparison, folder, progress)
        expected = {
            output.name: _in_shape(model, bundle, output, np.load(folder / outputs_file(index)))
            for index, output in enumerate(bundle.manifest.outputs)
        }
        by_layer = {layer: Agreement() for layer in model_run["layers"]}
        counts = {layer: ClippedCount(ranges.get(layer)) for layer in model_run["layers"]}
        with Session(bundle, context=context) as session:
            for index in range(layer_pictures):
                _add_layers(session, samples[index], folder, index, by_layer, counts)
                progress(1)
            by_output, first_results = _compare_outputs(session, samples, expected, model_run["softmax"], progress)
            agreement: dict[str, Any] = {
                "pictures": len(samples),
                "framework": _framework(model)[0],
                "beside": model_run["beside"],
                "driver": _driver_text(session),
                "outputs": [
                    _output_entry(output, by_output[output.name], model_run) for output in bundle.manifest.outputs
                ],
                **_layer_entries(bundle, layers, model_run, by_layer, counts),
            }
            too_far = bool(is_too_different(agreement))
            if too_far or explain:
                agreement["loses_most"] = verdict.lost(bundle, samples)
            if too_far:
                verdicts = _verdicts(bundle, samples, first_results, expected, model_run["softmax"])
                agreement["judged"], agreement["wrong"] = len(first_results), selfcheck.check(session).wrong
                agreement["outputs"] = [{**output, **verdicts[output["name"]]} for output in agreement["outputs"]]
    return agreement


def _compared_layers(bundle: Bundle) -> list[Layer | Node]:
    """Return the layers of a bundle that compute values: neither inputs nor views nor uploads."""
    layers: Sequence[Layer | Node] = bundle.graph.nodes if len(bundle.parts) > 1 else bundle.network.layers
    operators = [ops.get(layer.op) for layer in layers]
    return [
        layer
        for layer, operator in zip(layers, operators)
        if not operator.is_input and not isinstance(operator, (ViewOperator, Upload))
    ]


def _described_outputs(bundle: Bundle) -> Sequence[GraphOutput | NetworkOutput]:
    """Return the outputs of a bundle, of one part or several."""
    return bundle.graph.outputs if len(bundle.parts) > 1 else bundle.network.outputs


def _compare_outputs(
    session: Session,
    samples: Sequence[Mapping[str, NDArray[Any]]],
    expected: Mapping[str, NDArray[np.float32]],
    is_softmax: Mapping[str, bool],
    progress: CountCallback,
) -> tuple[dict[str, Agreement], list[Mapping[str, NDArray[Any]]]]:
    """Run the bundle on all samples; return the agreement of each output, and the results of the first samples.

    Args:
        session: runs the bundle.
        samples: the inputs.
        expected: the model's values of each output, with the samples as the first axis.
        is_softmax: whether the model's output is a softmax, which the bundle leaves out.
        progress: called with 1 after every sample.
    """
    agreements = {name: Agreement() for name in expected}
    first_results: list[Mapping[str, NDArray[Any]]] = []
    for index, results in enumerate(session.stream(samples)):
        if index < verdict.PICTURES:
            first_results.append(results)
        for name, agreement in agreements.items():
            values = results[name]
            if is_softmax.get(name, False):
                values = softmax(values.astype(np.float64))
            agreement.add(values, expected[name][index])
        progress(1)
    return agreements, first_results


def _verdicts(
    bundle: Bundle,
    samples: Sequence[Mapping[str, NDArray[Any]]],
    first_results: Sequence[Mapping[str, NDArray[Any]]],
    expected: Mapping[str, NDArray[np.float32]],
    is_softmax: Mapping[str, bool],
) -> dict[str, dict[str, Any]]:
    """Return for each output how near the exact reference is to the model, and the driver to the reference.

    Args:
        bundle: the exported model.
        samples: the inputs.
        first_results: the driver's results for the first of them.
        expected: the model's values of each output, with the samples as the first axis.
        is_softmax: whether the model's output is a softmax, which the bundle leaves out.
    """
    verdict_builder = verdict.Verdict(bundle, [name for name, softmaxed in is_softmax.items() if softmaxed])
    for index, results in enumerate(first_results):
        verdict_builder.add(samples[index], results, {name: values[index] for name, values in expected.items()})
    return verdict_builder.as_json()


def _driver_text(session: Session) -> str:
    gl = session.context.gl
    return f"{gl.text(GL.GL_RENDERER)}, {gl.text(GL.GL_VERSION)}, {session.context.how}"


def _output_entry(output: Output, agreement: Agreement, model_run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of an output in the result of ``compare``."""
    is_softmax = model_run["softmax"].get(output.name, False)
    return {"name": output.name, "softmax": is_softmax, **agreement.as_json(), **_shares(output, agreement)}


def _layer_entries(
    bundle: Bundle,
    layers: Sequence[Layer | Node],
    model_run: Mapping[str, Any],
    by_layer: Mapping[str, Agreement],
    counts: Mapping[str, ClippedCount],
) -> dict[str, Any]:
    """Return ``layers`` and ``not_compared`` of the result of ``compare``."""
    compared = [layer for layer in layers if layer.name in by_layer and by_layer[layer.name].pictures]
    outputs = {name for output in _described_outputs(bundle) for name in output.layers}
    return {
        "layers": [
            {
                "layer": layer.name,
                "op": layer.op,
                "computes": model_run["computes"][layer.name],
                **by_layer[layer.name].as_json(),
                **counts[layer.name].as_json(),
            }
            for layer in compared
        ],
        "not_compared": [layer.name for layer in layers if layer not in compared and layer.name not in outputs],
    }


@dataclass(frozen=True)
class _Comparison:
    """Subject of a comparison with a model.

    Attributes:
        bundle: the exported model.
        samples: the inputs.
        layers: layers of the bundle to compare.
        layer_pictures: number of samples to compare layer by layer.
        io_options: ranges, shapes and constants of inputs, as at the export.
    """

    bundle: Bundle
    samples: Sequence[Mapping[str, NDArray[Any]]]
    layers: Sequence[Layer | Node]
    layer_pictures: int
    io_options: IoOptions


def _in_framework(model: Path, comparison: _Comparison, folder: Path, progress: CountCallback) -> dict[str, Any]:
    """Run the model in a separate process, which writes its outputs into the folder; return their description."""
    files = {}
    for index, model_input in enumerate(comparison.bundle.manifest.inputs):
        files[model_input.name] = str(folder / f"input-{index}.npy")
        np.save(files[model_input.name], np.stack([sample[model_input.name] for sample in comparison.samples]))
    job = {
        **_job(comparison.bundle, comparison.layers, comparison.io_options),
        "inputs": files,
        "count": len(comparison.samples),
        "layer_pictures": comparison.layer_pictures,
        "out": str(folder),
    }
    framework, module = _framework(model)
    job["model"] = str(importers.plain_file(model, folder))
    model_run = _run(framework, module, job, folder, progress)
    if "refused" not in model_run:
        return model_run
    job["model"] = str(importers.converted_file(model, folder, str(model_run["refused"])))
    return _run(*_FRAMEWORKS["tflite"], job, folder, progress)


def _job(bundle: Bundle, layers: Sequence[Layer | Node], io_options: IoOptions) -> dict[str, Any]:
    """Return the arguments of the process that runs the model, without files; see ``job``."""
    inputs = bundle.manifest.inputs
    return {
        "numbers": [value.name for value in inputs if value.kind == NUMBERS and len(value.shape) == 3],
        "pictures": {
            picture.name: {"scales": picture.value.scales, "zeros": picture.value.zeros}
            for picture in inputs
            if isinstance(picture.value, FeatureMap) and picture.kind == PICTURE
        },
        "layers": [layer.name for layer in layers],
        "outputs": [
            {"name": output.name, "layers": list(output.layers), "steps": len(output.steps)}
            for output in _described_outputs(bundle)
        ],
        "operators": custom.loaded(),
        "imports": own_modules.remembered(),
        "input_ranges": dict(io_options.ranges),
        "input_shapes": dict(io_options.shapes),
        "constants": dict(io_options.constants),
    }


def _run(
    framework: str, module: str, job: Mapping[str, Any], folder: Path, progress: Callable[[int], object]
) -> dict[str, Any]:
    """Run a job in a process; return the description of its results."""
    with ChildProcess(f"{__package__}.{module}", job, folder / "job", f"runs {framework}") as process:
        for _ in process.lines():
            progress(1)
        process.finish()
    model_run: dict[str, Any] = json.loads((folder / ABOUT).read_text("utf-8"))
    return model_run


def _framework(model: Path) -> tuple[str, str]:
    """Return the framework of a model, and the module that runs it."""
    return _FRAMEWORKS[importers.kind_of(model)]


def _shares(output: Output, agreement: Agreement) -> dict[str, float]:
    """Return the shares of an output's equal samples or values, if they are meaningful."""
    if any(step.step == ARGMAX for step in output.steps):
        return {"same": agreement.same}
    if len(output.shape) != 1 or output.shape[0] == 1:
        return {}
    return {"top1": agreement.top1, "margin": agreement.margin, "margin_share": agreement.margin_share}


def steps(pictures: int, layer_pictures: int) -> int:
    """Return the total of the counts that ``compare`` passes to ``progress``."""
    return 2 * (pictures + min(layer_pictures, pictures))


def _in_shape(model: Path, bundle: Bundle, output: Output, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the model's values of an output, one array for each sample, in the shape of the bundle's output.

    A vector of the bundle can be a map of 1x1 pixels in the model, followed by a layer that only changes the shape. The
    values and their order are the same.

    Raises:
        InputError: the shapes differ by more than sizes of 1.
    """
    shape = output.shape
    if [size for size in values.shape[1:] if size != 1] != [size for size in shape if size != 1]:
        sides = " and ".join("x".join(map(str, side)) for side in (values.shape[1:], shape))
        raise InputError(
            f"{model} and {bundle.path} end in different shapes ({sides}); give the model that the bundle was made from"
        )
    return values.reshape(len(values), *shape)


def _add_layers(
    session: Session,
    sample: Mapping[str, NDArray[Any]],
    folder: Path,
    index: int,
    by_layer: dict[str, Agreement],
    counts: Mapping[str, ClippedCount],
) -> None:
    """Add every layer of a sample, one after the other, because all together can take gigabytes."""
    positions = {name: position for position, name in enumerate(by_layer)}
    for name, output in session.layers(sample):
        if name not in positions:
            continue
        expected = np.load(folder / layer_file(index, positions[name]))
        if expected.size == output.size:
            # A vector can be a map of 1x1 pixels in the model; the values and their order are the same.
            by_layer[name].add(output.ravel(), expected.ravel())
        if expected.shape == output.shape:
            counts[name].add(output, expected)
