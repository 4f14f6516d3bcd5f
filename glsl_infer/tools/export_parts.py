"""Export report of a model in parts: the device of each part, and the bytes that pass between parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from glsl_infer.compiler.delegate import Built
from glsl_infer.compiler.place import described
from glsl_infer.runtime import statistics
from glsl_infer.tools.videocore import foresight
from glsl_infer.tools.videocore.foresight import Foresight
from glsl_infer.tools.videocore.verify import Verification, measured

if TYPE_CHECKING:
    from glsl_infer.tools.export_report import ExportReport


@dataclass(frozen=True)
class PartReport:
    """One part of a model.

    Attributes:
        kind: ``gpu`` or ``cpu``.
        layers: names of its layers.
        operators: its operators with their counts.
        uploaded: bytes uploaded for it in a frame.
        read_back: bytes of it read back in a frame.
    """

    kind: str
    layers: tuple[str, ...]
    operators: str
    uploaded: int
    read_back: int


def part_reports(built: Built) -> tuple[PartReport, ...]:
    """Return one entry for each part in order; empty for a model without parts."""
    reports = []
    bundles = iter(built.gpu)
    for part in built.parts:
        operators = described(built.graph, part.nodes)
        if part.on_cpu:
            reports.append(PartReport("cpu", part.nodes, operators, 0, 0))
        else:
            bundle = next(bundles).bundle
            transfers = statistics.uploaded(bundle), statistics.read_back(bundle)
            reports.append(PartReport("gpu", part.nodes, operators, *transfers))
    return tuple(reports)


def merge_reports(reports: Sequence[ExportReport], parts: tuple[PartReport, ...]) -> ExportReport:
    """Return the report of a model from the reports of its GPU parts."""
    first = reports[0]
    together: dict[str, Any] = {
        key: tuple(entry for report in reports for entry in getattr(report, key))
        for key in ("layers", "ranges", "wide", "scales", "warnings", "weights", "precision", "unseen")
    }
    return replace(
        first,
        **together,
        totals={key: sum(report.totals[key] for report in reports) for key in first.totals},
        memory=first.memory if len(reports) == 1 else (),
        parts=parts,
    )


def verified(built: Built, seconds: float) -> tuple[Verification | None, Foresight]:
    """Return the results of VideoCore IV's compiler for all GPU parts, and the estimated time of a frame.

    Args:
        built: a model in parts.
        seconds: time limit for all parts together; 0 skips the compiler and estimates without it.
    """
    if not seconds:
        return None, foresight.together([foresight.foresee(part.bundle, {}) for part in built.gpu])
    verifications = [measured(part.bundle, seconds / len(built.gpu)) for part in built.gpu]
    layers = tuple(layer for check, _ in verifications for layer in check.layers)
    times = [
        foresight.foresee(part.bundle, measurement.programs) for part, (_, measurement) in zip(built.gpu, verifications)
    ]
    return replace(verifications[0][0], layers=layers), foresight.together(times)


def line(parts: Sequence[PartReport]) -> str:
    """Return a sentence about the parts of a model for users."""
    on_cpu = [part for part in parts if part.kind == "cpu"]
    operators = "; ".join(part.operators for part in on_cpu)
    uploaded, read_back = (sum(getattr(part, key) for part in parts) for key in ("uploaded", "read_back"))
    return (
        f"on the CPU: {operators}. {len(parts)} parts, {len(on_cpu)} of them on the CPU; a frame uploads "
        f"{uploaded / 1e3:.1f} kB and reads back {read_back / 1e3:.1f} kB. --no-delegate refuses instead"
    )
