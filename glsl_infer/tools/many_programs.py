"""What the export's report says of a bundle with hundreds of programs: each runner checks and compiles them all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from glsl_infer.lowering.weights_plan import LONGEST_ARRAY

if TYPE_CHECKING:
    from glsl_infer.bundle import Bundle
    from glsl_infer.tools.export_report import ExportReport

PHONES = 224
"""Uniform vectors of most phones."""

MANY = 100
"""Programs of which more are many: X22 has 10. Reading and checking one takes 22 ms of a workstation's CPU, and some 40
times that of a Pi Zero's, before its compiler takes about 0.3 s (YOLOv8n: 735 programs in 16 s here)."""


def long_arrays(bundles: Iterable[Bundle], uniform_vectors: int) -> tuple[str, ...]:
    """Return the warning about arrays that are longer than what was asked for; nothing where none is.

    Args:
        bundles: of all GPU parts.
        uniform_vectors: vec4 of the longest uniform array that was asked for.
    """
    needed = max((bundle.manifest.limits.fragment_uniform_vectors for bundle in bundles), default=0)
    if needed <= max(uniform_vectors, PHONES):
        return ()
    return (
        f"a driver needs {needed} uniform vectors for it, and many phones have {PHONES}: as constants its weights "
        "would be more text than a runner takes. For phones, make it smaller: fewer channels, or smaller pictures",
    )


def advice(report: ExportReport, uniform_vectors: int) -> str | None:
    """Return what to do about many programs; None where there are few, or where longer arrays would not help.

    Args:
        report: of the export.
        uniform_vectors: vec4 of the longest uniform array that it was allowed.
    """
    baked = [
        choice for choice in report.weights if choice.mode == "baked" and choice.microseconds.get("uniform") is None
    ]
    if report.totals["programs"] <= MANY or not baked or uniform_vectors >= LONGEST_ARRAY:
        return None
    slices = sum(choice.slices for choice in baked)
    layers = "1 layer" if len(baked) == 1 else f"{len(baked)} layers"
    return (
        f"{slices} of the {report.totals['programs']} programs are for one slice each: the weights of {layers} fit no "
        f"uniform array of {uniform_vectors} vec4, so that they are constants, and a Pi Zero needs about a second for "
        "each program before its first frame. For a Raspberry Pi with Mesa, or a desktop, export with "
        "--uniform-vectors videocore: fewer programs and draws, and a smaller file"
    )
