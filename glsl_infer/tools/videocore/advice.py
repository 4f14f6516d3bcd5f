"""Advice about networks for their authors, and about shaders for maintainers of the compiler."""

from __future__ import annotations

from dataclasses import dataclass

from glsl_infer.program.layout import GPU_TILE
from glsl_infer.tools.videocore.estimate import Board, gpu_ms, layer_ms
from glsl_infer.tools.videocore.report import SMALL_SHARE, Report, Row

OVER_FLOOR = 1.4
"""Ratio of instructions to the floor above which a convolution gets advice. Bias, residual and activation are not in
the floor."""

LONG_WAIT = 1.5
"""Ratio of estimated cycles to instructions above which a layer waits for texels."""

MANY_PROGRAMS = 16
EMPTY = 0.25
"""Share of drawn pixels in a layer's tiles below which most of the tiles is wasted."""


MOST_LAYERS = 3
"""Layers of a network with advice for its author."""

SLOW = 0.05
"""Share of a frame from which a layer gets advice for the network's author."""

CHANNELS = frozenset(
    {"conv2d", "convolution_products", "convolution_sum", "dense", "dense_products", "gated_convolution"}
)
"""Operators whose cost is proportional to their output channels."""


@dataclass(frozen=True)
class Advice:
    """A change of a layer or network, and its largest saving: executed instructions or milliseconds; 0 if unknown."""

    layer: str
    text: str
    saves: int = 0


def advise(report: Report) -> list[Advice]:
    """Return suggested changes, the largest saving first. Shaders below ``SMALL_SHARE`` of the frame get none."""
    hints = [
        advice
        for row in report.rows
        if not row.failed
        for advice in _jobs(row) + _code(row, row.total > SMALL_SHARE * report.total)
    ]
    return sorted(hints, key=lambda hint: -hint.saves)


def advise_author(report: Report, board: Board, draw_share: float) -> list[Advice]:
    """Return changes of a network's slowest layers and of the network; ``saves`` is in milliseconds of a frame."""
    rows = sorted(report.rows, key=lambda row: -layer_ms(row, board, draw_share))
    frame = sum(layer_ms(row, board, draw_share) for row in rows)
    advice = []
    for row in rows[:MOST_LAYERS]:
        milliseconds, computing = layer_ms(row, board, draw_share), gpu_ms(row, board)
        if milliseconds < SLOW * frame or row.failed:
            continue
        share = f"{milliseconds:.1f} of {frame:.1f} ms"
        if row.op in CHANNELS and row.passes > 1:
            because = "mostly computing" if computing > milliseconds / 2 else f"mostly its {row.passes} draws"
            change = f"halve the channels of '{row.layer}' ({share}, {because})"
            advice.append(Advice(row.layer, change, round(milliseconds / 2)))
        elif computing > milliseconds / 2:
            change = f"halve width and height before '{row.layer}' ({share}), with a stride of 2 in an earlier layer"
            advice.append(Advice(row.layer, change, round(computing * 3 / 4)))
    computing = sum(gpu_ms(row, board) for row in rows)
    if computing > frame / 2:
        advice.append(Advice("", "halve width and height of the input image", round(computing * 3 / 4)))
    elif rows:
        draws = sum(row.passes for row in rows)
        change = f"use fewer layers or channels: most of the frame's time is the cost of its {draws} draws"
        advice.append(Advice("", change, 0))
    return advice


def _jobs(row: Row) -> list[Advice]:
    """Return advice about the commands of a layer of any size."""
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
    """Return advice about the shaders of a layer; empty unless ``matters``."""
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
    if row.cycles > LONG_WAIT * row.instructions:
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
