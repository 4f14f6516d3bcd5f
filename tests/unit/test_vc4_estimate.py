"""The estimate reproduces the article's published frame, and each term of the formula counts."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tiny

from glsl_infer.tools.videocore.estimate import BOARDS, Board, costs, estimate, gpu_ms, layer_ms, streamed_ms
from glsl_infer.tools.videocore.report import Row, report
from glsl_infer.tools.videocore.transcript import Job, Measured, Shader

ZERO = BOARDS[0]


def row(issued: int, fetched: int, passes: int = 1, jobs: int = 1) -> Row:
    numbers = dict.fromkeys(Row.__dataclass_fields__, 0)
    values = {"layer": "a", "op": "conv2d", "issued": issued, "fetched": fetched, "passes": passes, "jobs": jobs}
    return Row(**{**numbers, **values})  # type: ignore[arg-type]


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_the_estimate_equals_the_frame_time_of_the_article(board: Board, share: float) -> None:
    frame = row(round(738.8e6 / 16), 27_900_000, passes=1120, jobs=1170)
    assert layer_ms(frame, board, share) == pytest.approx(board.article, rel=1e-6)


def test_twelve_processors_take_four_cycles_for_sixteen_pixels() -> None:
    assert gpu_ms(row(issued=12 * 250_000 // 4, fetched=0), ZERO) == pytest.approx(1.0)


def test_six_texture_units_fetch_a_texel_a_cycle_and_the_slower_side_counts() -> None:
    assert gpu_ms(row(issued=0, fetched=6 * 250_000), ZERO) == pytest.approx(1.0)
    assert gpu_ms(row(issued=2 * 12 * 250_000 // 4, fetched=6 * 250_000), ZERO) == pytest.approx(2.0)


def test_programs_that_the_instruction_cache_does_not_hold_may_take_longer() -> None:
    short, long = (replace(row(issued=12_000_000, fetched=0), instructions=count) for count in (512, 513))
    assert streamed_ms(short, ZERO) == 0.0
    assert streamed_ms(long, ZERO, cache=8192) == 0.0
    assert streamed_ms(long, ZERO) == pytest.approx(12.0 / 32.0 * gpu_ms(long, ZERO)), "12 cycles each 8 instructions"


def test_the_share_moves_cost_from_jobs_to_draws() -> None:
    assert costs(ZERO, 0.0).draw == 0.0
    assert costs(ZERO, 1.0).job == 0.0
    few, many = costs(ZERO, 0.1), costs(ZERO, 0.9)
    assert few.draw < many.draw and few.job > many.job


def test_an_estimate_is_between_its_bounds() -> None:
    bundle = tiny.tiny_bundle(weights="uniform")
    shader, job = Shader(100, 100, 2, 50, 10, 110, 4), Job(60, 60, 1, 4, False, 1000)
    measured = Measured("VC4", {draw.program: shader for draw in bundle.manifest.passes}, {}, {}, (job,) * 7)
    result = estimate(report(bundle, measured), ZERO, 0.3)
    assert result.gpu < result.low < result.total < result.high
    assert result.streamed == 0.0
    assert estimate(report(bundle, measured), ZERO, 0.3, instruction_cache=64).streamed > 0.0
    assert result.low == pytest.approx(result.gpu + 7 * costs(ZERO, 0.0).job)
    assert result.high == pytest.approx(result.gpu + len(bundle.manifest.passes) * costs(ZERO, 1.0).draw)
