"""Model file and typical inputs -> a file of ranges."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from glsl_infer import importers
from glsl_infer.compiler import optimize
from glsl_infer.compiler.build import Options, Tell, tell_nobody
from glsl_infer.compiler.delegate import cpu_layers, crossing, partition
from glsl_infer.compiler.delegate.build import gpu_graph
from glsl_infer.compiler.delegate.choose import named_layers
from glsl_infer.compiler.delegate.partition import reads
from glsl_infer.compiler.ranges import PreparedGraph, prepare
from glsl_infer.compiler.ranges.stored import StoredRanges, fingerprint, learnt
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph
from glsl_infer.graph.reference import Inputs
from glsl_infer.importers.shared.ends import Ends
from glsl_infer.support import blas
from glsl_infer.tools import ranges_file
from glsl_infer.tools.calibration import samples as calibration_samples


@blas.one_thread()
def calibrate(
    model: str | Path,
    out: str | Path,
    calibration: Sequence[str | Path],
    *,
    options: Options | None = None,
    tell: Tell = tell_nobody,
) -> StoredRanges:
    """Learn the ranges of a model's layers and write them.

    Args:
        model: a ``.keras``, ``.onnx`` or ``.tflite`` file.
        out: the ``.json`` file to write.
        calibration: files of typical inputs; see ``calibration.samples``.
        options: of its inputs and outputs, and how ranges are chosen.
        tell: hears of every step.

    Raises:
        InputError: whatever was given that cannot be used.
        ModelError: a layer that cannot be exported.
    """
    options = options or Options()
    tell("loading the model")
    ends = Ends(options.input_ranges, options.fits, options.purposes, options.input_sizes, options.outputs)
    graph = importers.survey(model, options.input_range, ends).whole()
    samples = calibration_samples(graph, calibration)
    if not samples:
        raise InputError("nothing to learn ranges from; give typical pictures with --calibrate DIR")
    small = optimize.optimize(graph)
    stored = StoredRanges(graph.name, fingerprint(small), learnt(_prepared(small, samples, options, tell)))
    ranges_file.write(stored, out)
    return stored


def _prepared(graph: Graph, samples: Sequence[Inputs], options: Options, tell: Tell) -> list[PreparedGraph]:
    """Return the GPU parts of an optimised graph with their ranges; layers that no shader can compute lie between."""
    tell(f"calibrating with {len(samples)} inputs")
    on_cpu = set(named_layers(graph, options.delegate_for)) | set(cpu_layers(graph) if options.delegate else ())
    if not on_cpu:
        return [prepare(graph, samples, percentile=options.percentile)]
    parts = [part for part in partition(graph, on_cpu) if not part.on_cpu]
    given = crossing.typical(graph, {name for part in parts for name in reads(graph, part)}, samples)
    made = []
    for part in parts:
        inner = gpu_graph(graph, part, {}, calibrated=True)
        own = [{node.name: sample[node.name] for node in inner.inputs} for sample in given]
        made.append(prepare(inner, own, percentile=options.percentile))
    return made
