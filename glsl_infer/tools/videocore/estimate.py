"""Estimated milliseconds of a frame on a board, with the complete formula. See videocore.md.

    GPU time of a layer = max(instructions * 4 * groups of 16 pixels / 12, texels fetched / 6) / clock
    frame = GPU times + draws * cost of a draw + jobs * cost of a job

The costs are mostly CPU time of the driver and the kernel. They come from the two times published in the article for
X22 at 385x385: the remainder after the GPU formula is distributed over draws and jobs. In the article's layout every
draw is a job, so separating the two costs needs an assumption: the share of a draw without its own job.

Programs longer than the instruction cache are loaded from memory again for every group of pixels. The largest cost of
this is a separate figure (``streamed_ms``), because it is not published whether the hardware prefetches lines.
"""

from __future__ import annotations

from dataclasses import dataclass

from glsl_infer.tools.videocore.report import LANES, Report, Row

QPUS, TMUS = 12, 6
CYCLES = 4
"""Cycles of an instruction, for 16 pixels."""

ARTICLE_INSTRUCTIONS, ARTICLE_DRAWS, ARTICLE_JOBS = 738.8e6, 1120, 1170
"""X22 at 385x385 in the article's layout: instructions times pixels by this compiler, draws, jobs of this driver."""

DRAW_SHARE = 0.2
"""Cost of a draw without its own job, as a share (0 to 1) of the cost of a draw with one: an assumption."""

INSTRUCTION_CACHE = 4096
"""Bytes of the instruction cache shared by the four processors of a slice, as in VC4C's emulator. Broadcom's guide
(VideoCoreIV-AG100-R) has counters for its hits and misses, but not its size."""

INSTRUCTION_BYTES, LINE_BYTES = 8, 64
LINE_CYCLES = 12
"""Cycles for which a slice waits for a line from the second-level cache: three instructions, as VC4C's emulator
waits for a texel from there. It has not been measured."""


@dataclass(frozen=True)
class Board:
    """A board, the clock of its GPU in Hz, and the article's measured milliseconds."""

    name: str
    clock: float
    article: float


BOARDS = (Board("Pi Zero W", 250e6, 595.0), Board("Pi 3 B+", 300e6, 328.0))


@dataclass(frozen=True)
class Costs:
    """Milliseconds of a draw and of a job, without the GPU's computing."""

    draw: float
    job: float


@dataclass(frozen=True)
class Estimate:
    """Estimated milliseconds of a frame.

    Attributes:
        gpu: computing on the GPU.
        total: with draws and jobs, at the ``DRAW_SHARE`` in use.
        low, high: the same if only jobs cost time, and if only draws do; the smaller first.
        streamed: largest additional time of programs longer than the instruction cache.
    """

    gpu: float
    total: float
    low: float
    high: float
    streamed: float


def costs(board: Board, draw_share: float = DRAW_SHARE) -> Costs:
    """Return the cost of a draw and of a job on a board, fitted to the article's time of a frame."""
    computing = 1e3 * ARTICLE_INSTRUCTIONS / LANES * CYCLES / QPUS / board.clock
    remainder = board.article - computing
    return Costs(draw_share * remainder / ARTICLE_DRAWS, (1.0 - draw_share) * remainder / ARTICLE_JOBS)


def gpu_ms(row: Row, board: Board) -> float:
    """Return the milliseconds of a layer on the GPU: the longer of computing and fetching."""
    return 1e3 * max(row.issued * CYCLES / QPUS, row.fetched / TMUS) / board.clock


def streamed_ms(row: Row, board: Board, cache: int = INSTRUCTION_CACHE) -> float:
    """Return the additional milliseconds of a layer if lines of a long program are not prefetched.

    The processors of a slice run the same program, each on a group of 16 pixels, and wait for its lines together.

    Args:
        row: the layer. The longest of its programs decides whether they fit the cache.
        board: the board; its clock is used.
        cache: bytes; see ``INSTRUCTION_CACHE``.
    """
    if row.instructions * INSTRUCTION_BYTES <= cache:
        return 0.0
    lines = row.issued * INSTRUCTION_BYTES / LINE_BYTES
    return 1e3 * lines * LINE_CYCLES / QPUS / board.clock


def layer_ms(row: Row, board: Board, draw_share: float = DRAW_SHARE) -> float:
    """Return the milliseconds of a layer with its draws and jobs."""
    cost = costs(board, draw_share)
    return gpu_ms(row, board) + row.passes * cost.draw + row.jobs * cost.job


def estimate(
    report: Report, board: Board, draw_share: float = DRAW_SHARE, instruction_cache: int = INSTRUCTION_CACHE
) -> Estimate:
    """Return the estimate of a frame; failed layers count with their available figures."""
    gpu = sum(gpu_ms(row, board) for row in report.rows)
    draws, jobs = report.totals["passes"], report.totals["jobs"]

    def total(share: float) -> float:
        cost = costs(board, share)
        return gpu + draws * cost.draw + jobs * cost.job

    low, high = sorted((total(0.0), total(1.0)))
    streamed = sum(streamed_ms(row, board, instruction_cache) for row in report.rows)
    return Estimate(gpu, total(draw_share), low, high, streamed)
