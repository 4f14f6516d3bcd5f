"""Milliseconds of a frame on a board: an estimate, with its formula and nothing hidden. See videocore.md.

    GPU time of a layer = max(instructions * 4 * groups of 16 pixels / 12, texels fetched / 6) / clock
    frame = GPU times + draws * cost of a draw + jobs * cost of a job

The costs, mostly CPU time of the driver and the kernel, come from the two times that the article published for X22 at
385x385: what the GPU formula leaves of them is spread over its draws and jobs. In its layout every draw is a job,
so that two numbers follow from one only by an assumption: the share of a draw that has no job of its own.

Programs that are longer than the instruction cache come from memory again for every group of pixels. What that may take
is a number of its own (``streamed_ms``), for nobody has published whether the hardware fetches lines ahead.
"""

from __future__ import annotations

from dataclasses import dataclass

from glsl_infer.tools.videocore.report import LANES, Report, Row

QPUS, TMUS = 12, 6
CYCLES = 4
"""Cycles of an instruction, for 16 pixels."""

ARTICLE_INSTRUCTIONS, ARTICLE_DRAWS, ARTICLE_JOBS = 738.8e6, 1120, 1170
"""X22 at 385x385 as the article draws it: instructions times pixels by this compiler, draws, jobs of this driver."""

DRAW_SHARE = 0.2
"""Share of the cost of a draw with a job of its own that a draw without one has (0 to 1): an assumption."""

INSTRUCTION_CACHE = 4096
"""Bytes of instructions that the four processors of a slice keep: VC4C's emulator has so many. Broadcom's guide
(VideoCoreIV-AG100-R) has counters for hits and misses of this cache, and says no size."""

INSTRUCTION_BYTES, LINE_BYTES = 8, 64
LINE_CYCLES = 12
"""Cycles that a slice waits for a line from the second cache: three instructions, as VC4C's emulator waits for a texel
from there. Nobody has measured it."""


@dataclass(frozen=True)
class Board:
    """A board, the clock of its GPU in Hz, and the milliseconds that the article measured on it."""

    name: str
    clock: float
    article: float


BOARDS = (Board("Pi Zero W", 250e6, 595.0), Board("Pi 3 B+", 300e6, 328.0))


@dataclass(frozen=True)
class Costs:
    """Milliseconds of a draw and of a job, besides what the GPU computes."""

    draw: float
    job: float


@dataclass(frozen=True)
class Estimate:
    """Estimated milliseconds of a frame.

    Attributes:
        gpu: what the GPU computes.
        total: with draws and jobs, at the ``DRAW_SHARE`` in use.
        low, high: the same if draws cost nothing beside jobs, and if jobs cost nothing beside draws.
        streamed: what is added at most by programs that the instruction cache does not hold.
    """

    gpu: float
    total: float
    low: float
    high: float
    streamed: float


def costs(board: Board, draw_share: float = DRAW_SHARE) -> Costs:
    """Return what a draw and a job cost on a board, such that the article's frame takes what it took."""
    computing = 1e3 * ARTICLE_INSTRUCTIONS / LANES * CYCLES / QPUS / board.clock
    rest = board.article - computing
    return Costs(draw_share * rest / ARTICLE_DRAWS, (1.0 - draw_share) * rest / ARTICLE_JOBS)


def gpu_ms(row: Row, board: Board) -> float:
    """Return the milliseconds that the GPU computes or fetches for a layer, whichever takes longer."""
    return 1e3 * max(row.issued * CYCLES / QPUS, row.fetched / TMUS) / board.clock


def streamed_ms(row: Row, board: Board, cache: int = INSTRUCTION_CACHE) -> float:
    """Return the milliseconds that a layer takes longer if no line of a long program is fetched ahead.

    The processors of a slice run the same program, each on a group of 16 pixels, and wait for its lines together.

    Args:
        row: the layer. Where its programs differ, the longest says whether the cache holds them.
        board: with its clock.
        cache: bytes; see ``INSTRUCTION_CACHE``.
    """
    if row.instructions * INSTRUCTION_BYTES <= cache:
        return 0.0
    lines = row.issued * INSTRUCTION_BYTES / LINE_BYTES
    return 1e3 * lines * LINE_CYCLES / QPUS / board.clock


def layer_ms(row: Row, board: Board, draw_share: float = DRAW_SHARE) -> float:
    """Return the milliseconds of a layer with its draws and jobs."""
    each = costs(board, draw_share)
    return gpu_ms(row, board) + row.passes * each.draw + row.jobs * each.job


def estimate(
    report: Report, board: Board, draw_share: float = DRAW_SHARE, instruction_cache: int = INSTRUCTION_CACHE
) -> Estimate:
    """Return the estimate of a frame; layers that failed count with what is known of them."""
    gpu = sum(gpu_ms(row, board) for row in report.rows)
    draws, jobs = report.totals["passes"], report.totals["jobs"]

    def total(share: float) -> float:
        each = costs(board, share)
        return gpu + draws * each.draw + jobs * each.job

    low, high = sorted((total(0.0), total(1.0)))
    streamed = sum(streamed_ms(row, board, instruction_cache) for row in report.rows)
    return Estimate(gpu, total(draw_share), low, high, streamed)
