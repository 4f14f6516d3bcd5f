"""Export warnings and advice about bundles with hundreds of programs.

Each runner checks and compiles all programs before the first frame.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from glsl_infer.lowering.weights_plan import LONGEST_ARRAY

if TYPE_CHECKING:
    from glsl_infer.bundle import Bundle
    from glsl_infer.tools.export_report import ExportReport

PHONES = 224
"""Uniform vectors of most phones."""

MANY_PROGRAMS = 100
"""Largest number of programs without advice; X22 has 10.

Reading and checking one takes 22 ms of a workstation's CPU, and about 40 times as long on a Pi Zero, whose compiler
then needs about 0.3 s for it (YOLOv8n: 735 programs in 16 s on the workstation)."""


def long_arrays(bundles: Iterable[Bundle], uniform_vectors: int) -> tuple[str, ...]:
    """Return a warning if uniform arrays are longer than requested and than those of most phones; else nothing.

    Args:
        bundles: bundles of all GPU parts.
        uniform_vectors: requested limit of a uniform array, in vec4.
    """
    needed = max((bundle.manifest.limits.fragment_uniform_vectors for bundle in bundles), default=0)
    if needed <= max(uniform_vectors, PHONES):
        return ()
    return (
        f"a driver needs {needed} uniform vectors for it, and many phones have {PHONES}: as constants its weights "
        "would be more text than a runner takes. For phones, make it smaller: fewer channels, or smaller images",
    )


def advice(report: ExportReport, uniform_vectors: int) -> str | None:
    """Return advice about many programs; None if there are few, or if longer arrays would not help.

    Args:
        report: report of the export.
        uniform_vectors: limit of a uniform array in that export, in vec4.
    """
    baked = [
        choice for choice in report.weights if choice.mode == "baked" and choice.microseconds.get("uniform") is None
    ]
    if report.totals["programs"] <= MANY_PROGRAMS or not baked or uniform_vectors >= LONGEST_ARRAY:
        return None
    slices = sum(choice.slices for choice in baked)
    layers = "1 layer" if len(baked) == 1 else f"{len(baked)} layers"
    return (
        f"{slices} of the {report.totals['programs']} programs are for one slice each: the weights of {layers} fit no "
        f"uniform array of {uniform_vectors} vec4, so that they are constants, and a Pi Zero needs about a second for "
        "each program before its first frame. For a Raspberry Pi with Mesa, export with --uniform-vectors videocore: "
        "fewer programs"
    )
