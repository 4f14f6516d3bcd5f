"""Error of an export on images that its ranges have not seen, and the options that were tried to make it small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from glsl_infer.compiler.build import Options
from glsl_infer.compiler.delegate import Built, from_optimized
from glsl_infer.compiler.delegate.unseen import BuiltNetwork, runs_of
from glsl_infer.compiler.ranges.sensitivity import MOST_COST
from glsl_infer.compiler.ranges.unseen import Remedy, UnseenError
from glsl_infer.errors import InputError
from glsl_infer.graph.reference import Inputs
from glsl_infer.support import blas
from glsl_infer.support.progress import ProgressCallback
from glsl_infer.tools.videocore import foresight

TRIED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("--precision 16", {"precision": "16", "tolerance": None, "budget": None}),
    ("--precision 16 --weight-bits 16", {"precision": "16", "weight_bits": "16", "tolerance": None, "budget": None}),
)
"""Options that make an export more exact, the cheapest first: their text and their values."""

MORE_IMAGES = "--images with more images, of which some are like the held-out ones"
"""Simulated by the ranges learnt from all images, held-out ones included."""


@blas.one_thread()
def measured(
    built: Built, names: Sequence[str], options: Options, samples: Sequence[Inputs], progress: ProgressCallback
) -> UnseenError:
    """Return the error of a built network on calibration images, and if it is large, the error with other options.

    Args:
        built: the network.
        names: labels of the classes.
        options: options of the export.
        samples: the calibration images, at least one.
        progress: called with the name of each step.
    """
    runs = runs_of(built, samples)
    errors = runs.errors(BuiltNetwork(built))
    remedies: list[Remedy] = []
    finest = built, "", 1.0
    for text, values in TRIED:
        if all(output.is_small for output in errors.outputs) or any(remedy.helps for remedy in remedies):
            break
        if all(getattr(options, key) == value for key, value in values.items()):
            continue
        progress(f"large error: trying {text}")
        try:
            alternative = from_optimized(
                built.graph, names, options=replace(options, **values), calibration=samples, progress=progress
            )
        except InputError:  # for example a texture beyond the limits
            continue
        outputs = runs.errors(BuiltNetwork(alternative), causes=False).outputs
        time = _milliseconds(alternative) / max(_milliseconds(built), 1e-9)
        remedies.append(Remedy.of(text, outputs, time))
        finest = alternative, text, time
    # ``auto`` would choose fewer bits with images that clip less.
    simulated = [finest] if _is_far(built) else [(built, "", 1.0), finest]
    for network, text, time in simulated if errors.held_out else ():
        if remedies and not any(remedy.helps for remedy in remedies):
            outputs = runs.errors(BuiltNetwork(network), causes=False, seen=True).outputs
            remedies.append(Remedy.of(f"{text} {MORE_IMAGES}".strip(), outputs, time))
    return replace(errors, remedies=tuple(remedies))


def _is_far(built: Built) -> bool:
    """Return whether ``auto`` has spent more on maps in 16 bits because the outputs had too large an error."""
    return any(part.prepared.spent is not None and (part.prepared.spent.times or 0.0) > MOST_COST for part in built.gpu)


def _milliseconds(built: Built) -> float:
    return foresight.together([foresight.foresee(part.bundle, {}) for part in built.gpu]).milliseconds
