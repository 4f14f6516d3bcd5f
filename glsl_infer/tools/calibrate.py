"""Calibration of a model: learn ranges from typical inputs and write them to a file.

``glsl-infer calibrate`` runs it. ``glsl-infer export --ranges`` reads the file, so exports need no images.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from glsl_infer import importers
from glsl_infer.compiler import optimize
from glsl_infer.compiler.assemble import classes_of
from glsl_infer.compiler.build import Options
from glsl_infer.compiler.delegate import from_optimized
from glsl_infer.compiler.ranges.stored import StoredRanges, fingerprint, learnt
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph
from glsl_infer.importers.core.io_options import IoOptions
from glsl_infer.support.progress import ProgressCallback, no_progress
from glsl_infer.tools import ranges_file
from glsl_infer.tools.calibration import samples as calibration_samples


def calibrate(
    model: str | Path | Graph,
    out: str | Path,
    calibration: Sequence[str | Path],
    *,
    options: Options | None = None,
    io_options: IoOptions | None = None,
    progress: ProgressCallback = no_progress,
) -> StoredRanges:
    """Learn a model's ranges and the other calibration data, and write them to a file.

    Args:
        model: a ``.keras``, ``.onnx`` or ``.tflite`` file, or an imported graph.
        out: the ``.json`` file to write.
        calibration: files of typical inputs; see ``calibration.samples``.
        options: options of the choice of ranges.
        io_options: options of the inputs and outputs of a model file.
        progress: called with the name of each step.

    Raises:
        InputError: an argument or file cannot be used, or calibration inputs are missing.
        ModelError: a layer cannot be exported.
    """
    options = options or Options()
    progress("loading the model")
    graph = model if isinstance(model, Graph) else importers.survey(model, io_options=io_options).whole()
    samples = calibration_samples(graph, calibration)
    if not samples:
        raise InputError("nothing to learn ranges from; give typical images with --images DIR")
    optimized = optimize.optimize(graph)
    built = from_optimized(
        optimized, [""] * classes_of(optimized), options=options, calibration=samples, progress=progress
    )
    ranges = learnt([part.prepared for part in built.gpu], [part.program for part in built.gpu])
    stored = StoredRanges(graph.name, fingerprint(built.graph), ranges)
    ranges_file.write(stored, out)
    return stored
