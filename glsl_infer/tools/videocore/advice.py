"""What to change in a bundle's shaders, where it would save something worth having."""

from __future__ import annotations

from dataclasses import dataclass

from glsl_infer.program.layout import GPU_TILE
from glsl_infer.tools.videocore.report import SMALL, Report, Row

OVER_FLOOR = 1.4
"""Instructions, as a multiple of the floor, from which a convolution is worth another look; bias, residual
and activation are not in the floor."""

WAITING = 1.5
"""Estimated cycles, as a multiple of the instructions, from which waiting for texels shows."""

MANY_PROGRAMS = 16
EMPTY = 0.25
"""Share of a layer's tiles that is drawn on, below which they are mostly waste."""


@dataclass(frozen=True)
class Advice:
    """What to change in a layer, and the instructions times pixels that it may save (0: it saves something else)."""

    layer: str
    text: str
    saves: int = 0


def advise(report: Report) -> list[Advice]:
    """Return what to change, what saves most first; shaders below ``SMALL`` of a frame are left alone."""
    hints = [
        advice
        for row in report.rows
        if not row.failed
        for advice in _jobs(row) + _code(row, row.total > SMALL * report.total)
    ]
    return sorted(hints, key=lambda entry: -entry.saves)


def _jobs(row: Row) -> list[Advice]:
    """Return what is wrong with the commands of a layer, however small."""
    advice = []
    if row.loads:
        advice.append(
            Advice(
                row.layer, f"{row.loads} of {row.jobs} jobs load the target's old pixels: clear it when a job begins"
            )
        )
    if row.jobs > 1:
        advice.append(
            Advice(row.layer, f"{row.jobs} jobs: all slices in one texture make one (glsl-infer export --layout atlas)")
        )
    if row.programs > MANY_PROGRAMS:
        advice.append(
            Advice(row.layer, f"{row.programs} programs, compiled at every start: uniform weights make it one")
        )
    return advice


def _code(row: Row, matters: bool) -> list[Advice]:
    """Return what is wrong with the shaders of a layer, if it matters."""
    advice: list[Advice] = []
    if not matters:
        return advice
    if row.least_total is not None and row.total > OVER_FLOOR * row.least_total:
        advice.append(
            Advice(
                row.layer,
                f"{row.per_fetch:.1f} instructions a fetch, {row.floor_per_fetch:.1f} would do: scalar sums, each "
                "coordinate tied to one of them",
                row.total - row.least_total,
            )
        )
    if row.cycles > WAITING * row.instructions:
        advice.append(
            Advice(
                row.layer,
                f"waits {row.cycles - row.instructions} of {row.cycles} estimated cycles, mostly for texels: put "
                "products between fetches",
            )
        )
    texels = row.tiles * GPU_TILE**2
    if row.tiles > 1 and row.pixels < EMPTY * texels:
        advice.append(
            Advice(
                row.layer,
                f"draws on {row.pixels / texels:.0%} of its {row.tiles} tiles: pack them closer, or share no texture "
                "with larger layers (glsl-infer export --memory naive)",
            )
        )
    return advice
