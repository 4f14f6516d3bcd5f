"""Rows, lower bounds, problems and advice, from statistics made up for the tiny network."""

from __future__ import annotations

from dataclasses import replace

import tiny

from glsl_infer.tools.videocore import floor, table
from glsl_infer.tools.videocore.advice import advise, advise_author
from glsl_infer.tools.videocore.estimate import BOARDS, layer_ms
from glsl_infer.tools.videocore.report import Report, report
from glsl_infer.tools.videocore.transcript import Job, Measured, Shader

BUNDLE = tiny.tiny_bundle(weights="uniform")
GOOD = Shader(100, 100, 2, 50, 10, 110, 4)
JOB = Job(60, 60, 1, 4, False, 1000)
LAYERS = list(dict.fromkeys(draw.layer for draw in BUNDLE.manifest.passes))
PROGRAMS = {draw.program: draw.layer for draw in BUNDLE.manifest.passes}


def report_of(**changed: Shader) -> Report:
    """Return a report in which all shaders are good, except those of some layers (by name, with _ for -)."""
    shaders = {name: changed.get(layer.replace("-", "_"), GOOD) for name, layer in PROGRAMS.items()}
    return report(BUNDLE, Measured("VC4", shaders, {}, dict.fromkeys(LAYERS, (JOB,)), (JOB,) * len(LAYERS)), "tiny")


def test_a_row_multiplies_by_the_pixels_that_are_drawn() -> None:
    (row,) = (row for row in report_of().rows if row.layer == "unit-pw")
    assert (row.passes, row.pixels, row.total, row.fetched) == (16, 16 * 25, 16 * 25 * 100, 16 * 25 * 4)
    assert row.groups == 16 * 2, "25 pixels are two groups of 16"
    assert row.issued == 16 * 2 * 100


def test_totals_are_sums_and_jobs_those_of_the_frame() -> None:
    result = report_of()
    assert result.total == result.totals["total"] == sum(row.total for row in result.rows)
    assert result.totals["jobs"] == len(LAYERS)
    assert result.totals["passes"] == len(BUNDLE.manifest.passes)


def test_the_floor_is_a_multiplication_each_and_two_coordinates() -> None:
    by_name = {layer.name: layer for layer in BUNDLE.network.layers}
    assert floor.products(by_name["unit-pw"]) == 16 * 25 * 8 * 16, "8 texels of 4 channels, 4 filters"
    assert floor.products(by_name["stem"]) == 2 * 25 * 25 * 12, "25 texels of 3 channels"
    textured = {layer.name: layer for layer in tiny.tiny_bundle("texture").network.layers}
    assert floor.products(textured["unit-pw"]) is None, "most of what it fetches are weights"
    assert floor.products(by_name["pool"]) is None
    assert floor.products(by_name["dense"]) is None
    (row,) = (row for row in report_of(unit_pw=replace(GOOD, fetches=8)).rows if row.layer == "unit-pw")
    assert row.floor_per_fetch == 18.0
    assert row.per_fetch == 12.5


def test_one_thread_is_fatal_above_a_hundredth_of_the_frame() -> None:
    slow = report_of(unit_pw=replace(GOOD, threads=1))
    (problem,) = slow.problems
    assert problem.layer == "unit-pw" and problem.fatal
    (problem,) = report_of(dense=replace(GOOD, threads=1)).problems
    assert problem.layer == "dense" and not problem.fatal
    assert report_of(unit_pw=replace(GOOD, threads=1, fetches=0)).problems == (), "nothing to wait for"


def test_advice_begins_with_the_largest_saving() -> None:
    result = advise(
        report_of(
            unit_pw=replace(GOOD, instructions=300, executed=300, fetches=8),
            expand=replace(GOOD, instructions=90, executed=90, fetches=2),
        )
    )
    saving = [advice for advice in result if advice.saves]
    assert [advice.layer for advice in saving[:2]] == ["unit-pw", "expand"]
    assert saving[0].saves == 16 * 25 * (300 - 8 * 18)
    assert "37.5 instructions a fetch, 18.0 would do" in saving[0].text


def test_advice_on_waiting_and_jobs() -> None:
    texts = [
        advice.text for advice in advise(report_of(unit_pw=replace(GOOD, cycles=400))) if advice.layer == "unit-pw"
    ]
    assert any("waits 300 of 400 estimated cycles" in text for text in texts)
    jobs = {**dict.fromkeys(LAYERS, (JOB,)), "expand": (JOB, replace(JOB, loads=True))}
    result = report(BUNDLE, Measured("VC4", dict.fromkeys(PROGRAMS, GOOD), {}, jobs, ()), "tiny")
    texts = [advice.text for advice in advise(result) if advice.layer == "expand"]
    assert any(text.startswith("1 of 2 jobs load the target's old pixels") for text in texts)
    assert any(text.startswith("2 jobs: ") for text in texts)


def test_a_good_layer_gets_no_advice() -> None:
    best = replace(GOOD, instructions=150, executed=150, fetches=8, cycles=160)
    assert [advice for advice in advise(report_of(unit_pw=best)) if advice.layer == "unit-pw"] == []


def test_a_program_that_several_layers_use_fails_in_each() -> None:
    layers = [layer for layer in LAYERS if layer.startswith("unit")]
    failed = {name: "is bad" for name, layer in PROGRAMS.items() if layer in layers}
    shaders = {name: GOOD for name in PROGRAMS if name not in failed}
    result = report(BUNDLE, Measured("VC4", shaders, failed, dict.fromkeys(LAYERS, (JOB,)), ()), "tiny")
    assert [problem.layer for problem in result.problems] == layers
    assert all(problem.fatal and "is bad" in problem.text for problem in result.problems)
    assert {row.layer for row in result.rows if row.failed} == set(layers)


def by_mesa(version: str, instructions: int) -> Report:
    """Return the report of another version of Mesa, in which the stem has another length."""
    renderer = f"VC4 V3D 2.1, OpenGL ES 2.0 Mesa {version}"
    return replace(report_of(stem=replace(GOOD, instructions=instructions, executed=instructions)), driver=renderer)


def test_a_layer_has_a_row_for_each_compiler() -> None:
    reports = [by_mesa("22.3.6", 100), by_mesa("25.0.7", 90)]
    lines = table.as_text(reports, 0.2).splitlines()
    assert lines[:2] == [f"tiny: VC4 V3D 2.1, OpenGL ES 2.0 Mesa {version}" for version in ("22.3.6", "25.0.7")]
    cells = [line.split() for line in lines]
    stem = [row for row in cells if row[:1] == ["stem"]]
    assert [(row[1], row[3]) for row in stem] == [("22.3.6", "100"), ("25.0.7", "90")]
    assert [row[1] for row in cells if row[:1] == ["total"]] == ["22.3.6", "25.0.7"]
    assert sum("estimate for Pi Zero W (250 MHz) (Mesa 25.0.7): " in line for line in lines) == 1
    (line,) = (line for line in table.as_text(reports[:1], 0.2).splitlines() if line.startswith("stem "))
    assert "22.3.6" not in line, "one compiler needs no column"


def test_a_summary_advises_the_author_in_ten_lines() -> None:
    slow = replace(GOOD, instructions=10**7, executed=10**7)
    result = replace(report_of(expand=slow), file="tiny")
    lines = table.summary([result], 0.2).splitlines()
    assert len(lines) <= 10 and lines[0].startswith("tiny: ")
    assert any(line.startswith("to make it faster, halve the channels of 'expand' (") for line in lines)
    assert any("halve width and height of the input image: saves about " in line for line in lines)
    hints = advise_author(result, BOARDS[0], 0.2)
    assert hints[0].saves == round(layer_ms(next(row for row in result.rows if row.layer == "expand"), BOARDS[0]) / 2)


def test_models_are_side_by_side_for_each_compiler() -> None:
    reports = [replace(by_mesa(version, 100), file=file) for file in ("a", "b") for version in ("22.3.6", "25.0.7")]
    first, second = table.side_by_side(reports, 0.2).split("VC4 V3D 2.1, OpenGL ES 2.0 Mesa ")[1:]
    assert first.startswith("22.3.6\n") and second.startswith("25.0.7\n")
    assert [part.splitlines()[1].split() for part in (first, second)] == [["layer", "a", "b", "change"]] * 2
    assert table.names(reports) == ["a, Mesa 22.3.6", "a, Mesa 25.0.7", "b, Mesa 22.3.6", "b, Mesa 25.0.7"]


def test_rows_for_spreadsheets_name_the_compiler() -> None:
    rows = table.as_csv([by_mesa("22.3.6", 100), by_mesa("25.0.7", 90)], 0.2).splitlines()
    assert rows[0].startswith("file,mesa,layer,")
    assert {row.split(",")[1] for row in rows[1:]} == {"22.3.6", "25.0.7"}
