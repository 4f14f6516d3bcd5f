"""The estimate of a frame on a Pi Zero W without a driver, and export's lines about it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
from tiny import tiny_bundle

from glsl_infer import bundle as bundles
from glsl_infer.lowering.weights_plan import LONG_ARRAY, LONGEST_ARRAY, LayerWeights, choose, longer_array
from glsl_infer.support.child_process import ROOT
from glsl_infer.tools.export_report import ExportReport
from glsl_infer.tools.many_programs import MANY_PROGRAMS, advice, long_arrays
from glsl_infer.tools.videocore import foresight
from glsl_infer.tools.videocore.estimate import BOARDS, Board, costs, estimate, gpu_ms, layer_ms, streamed_ms
from glsl_infer.tools.videocore.foresight import Foresight, LayerTime
from glsl_infer.tools.videocore.report import Row, report
from glsl_infer.tools.videocore.transcript import Job, Measured, Shader

ZERO = BOARDS[0]


def row(issued: int, fetched: int, passes: int = 1, jobs: int = 1) -> Row:
    """Return a report's row for one layer."""
    fields = dict.fromkeys(Row.__dataclass_fields__, 0)
    values = {"layer": "a", "op": "conv2d", "issued": issued, "fetched": fetched, "passes": passes, "jobs": jobs}
    return Row(**{**fields, **values})  # type: ignore[arg-type]


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


def test_programs_larger_than_the_instruction_cache_can_take_longer() -> None:
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


def test_the_estimate_is_one_line() -> None:
    bundle = bundles.read(ROOT / "models/superres-x2-96.glslnn")
    forecast = foresight.foresee(bundle, {})
    assert (forecast.draws, forecast.jobs) == (len(bundle.manifest.passes), bundle.manifest.jobs)
    assert [layer.layer for layer in forecast.layers] == list(
        dict.fromkeys(draw.layer for draw in bundle.manifest.passes)
    )
    assert sum(layer.milliseconds for layer in forecast.layers) == pytest.approx(forecast.milliseconds, rel=0.05)
    assert str(forecast).startswith("Pi Zero W: about 20 ms a frame, estimated without its compiler: 15 ms computing")
    assert "longest: 'conv2' 6.0 ms, " in str(forecast)
    assert forecast.warnings == ()


def test_long_names_are_shortened() -> None:
    name = "wrapper/Net/torch.nn.modules.container.Sequential_stem/torch.nn.modules.conv.Conv2d_0;1"
    forecast = Foresight(1.0, 1.0, 1, 1, 1, 1.0, (LayerTime(name, "conv2d", 1.0, 1, 1),))
    assert str(forecast).endswith("longest: 'wrapper/Net/...tem/torch.nn.modules.conv.Conv2d_0;1' 1.0 ms")


def test_counts_of_the_compiler_replace_the_estimate() -> None:
    bundle = tiny_bundle()
    shader = Shader(1200, 1200, 2, 0, 0, 0, 9)
    (first_pass, *_), names = bundle.manifest.passes, {draw.program for draw in bundle.manifest.passes}
    forecast = foresight.foresee(bundle, {name: shader for name in names})
    groups = sum(-(-quad.width * quad.height // 16) for draw in bundle.manifest.passes for quad in draw.quads)
    assert forecast.computing == pytest.approx(1e3 * 1200 * groups * 4 / 12 / 250e6)
    assert forecast.compiled == 1.0 and "estimated with its compiler" in str(forecast)
    partial = foresight.foresee(bundle, {first_pass.program: shader})
    assert 0.0 < partial.compiled < 1.0 and "% of it with its compiler" in str(partial)
    assert foresight.together([forecast]) == forecast
    assert foresight.together([forecast, partial]).draws == 2 * forecast.draws


def test_absurd_estimates_name_the_layer() -> None:
    layers = (LayerTime("stem", "conv2d", 700.0, 8, 8), LayerTime("huge", "conv2d", 9000.0, 600, 590))
    result = Foresight(9700.0, 9500.0, 608, 2, 598, 0.0, layers)
    slow, many = result.warnings
    assert "about 9.7 s on a Pi Zero W, most of it in layer 'huge' (conv2d, 9.0 s): give smaller" in slow
    assert "598 programs are compiled before the first frame, 590 of them for layer 'huge' (conv2d)" in many
    assert replace(result, milliseconds=900.0, programs=300).warnings == ()


def report_of_programs(programs: int, columns: int, array: int) -> ExportReport:
    """Return a report of two layers of 16 slices, with weights placed as the plan for such an array does."""
    layer = LayerWeights("a", 16, 400, columns, columns + 1)
    weights = [choose(replace(layer, name=name), "auto", uniform_vectors=array) for name in "ab"]
    return ExportReport((), (), (), (), (), {"programs": programs}, (), tuple(weights))


@pytest.mark.parametrize(("programs", "message"), [(MANY_PROGRAMS, False), (MANY_PROGRAMS + 1, True)])
def test_many_programs_get_advice(programs: int, message: bool) -> None:
    line = advice(report_of_programs(programs, 288, 216), 216)
    assert (line is not None) == message
    if line is not None:
        assert line.startswith("32 of the 101 programs are for one slice each: the weights of 2 layers fit no uniform")
        assert "For a Raspberry Pi with Mesa, export with --uniform-vectors videocore" in line


@pytest.mark.parametrize(("columns", "array"), [(36, 216), (288, LONGEST_ARRAY)])
def test_few_programs_get_no_advice(columns: int, array: int) -> None:
    """Weights in arrays, and arrays of maximum length, need no advice."""
    assert advice(report_of_programs(500, columns, array), array) is None


@pytest.mark.parametrize("length, longer", [(216, LONG_ARRAY), (LONG_ARRAY, LONGEST_ARRAY), (LONGEST_ARRAY, None)])
def test_too_many_constants_get_advice_on_longer_arrays(length: int, longer: int | None) -> None:
    layer = LayerWeights("wide", 512, 49, 1152, LONGEST_ARRAY + 1, "too wide")
    (choice,) = [choose(layer, "auto", None, length)]
    assert choice.mode == "baked"
    assert longer_array([choice], length) == longer
    assert longer_array([replace(choice, slices=8)], length) is None


def test_a_warning_names_the_required_uniform_vectors() -> None:
    def bundle(vectors: int) -> Any:
        return SimpleNamespace(manifest=SimpleNamespace(limits=SimpleNamespace(fragment_uniform_vectors=vectors)))

    (message,) = long_arrays([bundle(200), bundle(903)], 216)
    assert message.startswith("a driver needs 903 uniform vectors for it, and many phones have 224")
    assert long_arrays([bundle(903)], 1000) == long_arrays([bundle(220)], 216) == long_arrays([], 216) == ()
