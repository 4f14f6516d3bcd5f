"""The report of glsl-infer vc4: the driver's transcript, loops, purposes of instructions, rows and advice."""

from __future__ import annotations

from dataclasses import replace

import hostile_shaders
import pytest
import tiny

from glsl_infer.bundle.shader_check import Loop, parse
from glsl_infer.program import Pass
from glsl_infer.tools.videocore import floor, table
from glsl_infer.tools.videocore.advice import advise, advise_author
from glsl_infer.tools.videocore.estimate import BOARDS, layer_ms
from glsl_infer.tools.videocore.loops import Executed, executed
from glsl_infer.tools.videocore.report import Report, report
from glsl_infer.tools.videocore.transcript import SKIPPED, Job, Measured, Shader
from glsl_infer.tools.videocore.transcript import parse as parse_transcript
from glsl_infer.tools.videocore.why import purposes

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
    assert [compiler_table.splitlines()[1].split() for compiler_table in (first, second)] == [
        ["layer", "a", "b", "change"]
    ] * 2
    assert table.names(reports) == ["a, Mesa 22.3.6", "a, Mesa 25.0.7", "b, Mesa 22.3.6", "b, Mesa 25.0.7"]


def test_rows_for_spreadsheets_name_the_compiler() -> None:
    rows = table.as_csv([by_mesa("22.3.6", 100), by_mesa("25.0.7", 90)], 0.2).splitlines()
    assert rows[0].startswith("file,mesa,layer,")
    assert {row.split(",")[1] for row in rows[1:]} == {"22.3.6", "25.0.7"}


PLAIN, FETCH = "0x1 mov r0, r1", "0xa load_tmu0 nop nop"
DELAY = [PLAIN] * 3


def branch(instructions: int) -> str:
    """Return a branch that skips this number of instructions after its delay slots and the next one."""
    return f"0xf branch.all_zs {8 * instructions}"


def loop(body: list[str]) -> list[str]:
    """Return a loop as compiled: 7 instructions a turn and once more, 5 to leave, the body, 4 to go back."""
    head = [*[PLAIN] * 3, branch(5), *DELAY]
    leave = [PLAIN, branch(len(body) + 4), *DELAY]
    turn = [*head, *leave, *body]
    return [*turn, branch(-len(turn) - 4), *DELAY]


def test_without_a_branch_all_is_executed_once() -> None:
    assert executed([PLAIN, FETCH, PLAIN], [Loop(1, 9, 90)]) == Executed(3, 1)


def test_a_loop_counts_its_turns_and_leaves_once() -> None:
    turns, body = 10, [PLAIN, FETCH, PLAIN]
    result = executed([PLAIN, *loop(body), FETCH], [Loop(1, turns, 100)])
    assert result == Executed(1 + 7 * (turns + 1) + 5 + turns * (len(body) + 4) + 1, turns + 1)


def test_a_loop_in_a_loop_counts_the_turns_of_both() -> None:
    inner = loop([FETCH])
    result = executed(loop([*inner, PLAIN]), [Loop(1, 6, 600), Loop(2, 8, 90)])
    once = 7 * 9 + 5 + 8 * 5
    assert result == Executed(7 * 7 + 5 + 6 * (once + 1 + 4), 48)


def test_loops_of_least_work_are_taken_as_unrolled() -> None:
    loops = [Loop(1, 3, 30), Loop(2, 3, 9), Loop(1, 50, 500), Loop(1, 2, 8)]
    assert executed(loop([FETCH]), loops).fetches == 50
    assert executed([*loop([FETCH]), *loop([FETCH])], loops).fetches == 3 + 50
    nested = loop([*loop([FETCH])])
    assert executed(nested, loops).fetches == 9, "only two stand in each other"


def test_loops_of_functions_are_where_they_are_called() -> None:
    text = "\n".join(
        [
            "vec4 turned(vec4 x) {",
            "for (int i = 0; i < 4; i++) { x += coord0; }",
            "return x;",
            "}",
            "void main() {",
            "vec4 y = turned(coord0);",
            "for (int i = 0; i < 7; i++) { y += turned(y); }",
            "gl_FragColor = y;",
            "}\n",
        ]
    )
    loops = parse("a", hostile_shaders.HEAD + text).loops
    assert [(loop.depth, loop.turns) for loop in loops] == [(1, 4), (1, 7), (2, 4)]
    assert loops[1].executed > 7 * loops[2].executed


PASSES = tiny.tiny_bundle(weights="uniform").manifest.passes
FIRST = PASSES[0]
FRAGMENT = (
    "@message MESA_SHADER_FRAGMENT shader: 514 inst, 2 threads, 375 uniforms, 16 max-temps, 1037 estimated-cycles"
)
VERTEX = "@message MESA_SHADER_VERTEX shader: 21 inst, 1 threads, 3 uniforms, 3 max-temps, 22 estimated-cycles"
SUBMIT = (
    "SUBMIT_CL seq=1 bin_cl=225B shader_rec=576B(x8) uniforms=13056B bos=27 126x252 tiles=0..1,0..3 flags=0x{flags:x}"
)
LOGGED_JOB = Job(126, 252, 8, 8, False, 225 + 576 + 13056)


def drawn(*lines: str) -> Measured:
    """Return the measurements of the first pass alone, from these lines."""
    return parse_transcript(["@driver VC4 V3D 2.1", "@draw 0", *lines], [FIRST])


def test_a_fragment_shader_and_its_fetches() -> None:
    result = drawn(
        VERTEX,
        "KVALIDATE OK insts=21 tex_samples=0 uniforms=3 threaded=0",
        FRAGMENT,
        "KVALIDATE OK insts=514 tex_samples=25 uniforms=375 threaded=1",
        SUBMIT.format(flags=1),
    )
    assert result.driver == "VC4 V3D 2.1"
    assert result.programs == {FIRST.program: Shader(514, 514, 2, 375, 16, 1037, 25)}
    assert result.failures == {}
    assert result.jobs == {FIRST.layer: (LOGGED_JOB,)}
    assert result.frame == ()


def test_programs_compiled_before_the_first_draw_are_not_counted() -> None:
    parsed = parse_transcript(
        [FRAGMENT, "KVALIDATE OK insts=514 tex_samples=25 uniforms=375 threaded=1", "@draw 0"], [FIRST]
    )
    assert parsed.programs == {}
    assert parsed.failures[FIRST.program] == SKIPPED


def test_the_more_expensive_of_two_variants_counts() -> None:
    shorter = FRAGMENT.replace("514", "400")
    for lines in ([FRAGMENT, shorter], [shorter, FRAGMENT]):
        assert drawn(*lines).programs[FIRST.program].instructions == 514


def test_a_program_keeps_its_statistics_in_later_passes() -> None:
    shared = [draw for draw in PASSES if draw.program == FIRST.program]
    assert len(shared) > 1
    parsed = parse_transcript(["@draw 0", FRAGMENT, "@draw 1", SUBMIT.format(flags=1)], shared)
    assert parsed.failures == {}
    assert list(parsed.programs) == [FIRST.program]


@pytest.mark.parametrize(
    "lines, words",
    [
        (["Failed to register allocate:", "0x00000000: mov t0, u0"], "too few registers"),
        (
            [FRAGMENT, "KERNEL: Bad write at ip 3", "KVALIDATE REJECTED insts=514"],
            "rejects its fragment shader (Bad write",
        ),
        ([VERTEX, "KVALIDATE REJECTED insts=21"], "rejects its vertex shader (no reason given)"),
        ([], SKIPPED),
    ],
)
def test_failures_are_those_of_the_program(lines: list[str], words: str) -> None:
    assert words in drawn(*lines).failures[FIRST.program]


def test_draws_that_reach_no_job_are_a_failure_of_the_layer() -> None:
    empty = SUBMIT.format(flags=1).replace("(x8)", "(x0)")
    assert "none of its draws" in drawn(FRAGMENT, empty).failures[FIRST.layer]
    assert drawn(FRAGMENT, SUBMIT.format(flags=1)).failures == {}


def test_jobs_of_a_whole_frame_are_kept_apart() -> None:
    result = drawn(FRAGMENT, SUBMIT.format(flags=1), "@frame", SUBMIT.format(flags=0), SUBMIT.format(flags=9))
    assert len(result.jobs[FIRST.layer]) == 1
    assert [job.loads for job in result.frame] == [True, False]


def test_the_listing_of_the_fragment_shader_ends_with_an_empty_line() -> None:
    result = drawn(
        "MESA_SHADER_VERTEX prog 0/1 QPU:",
        "0x1 mov",
        "",
        FRAGMENT,
        "MESA_SHADER_FRAGMENT prog 1/2 QPU:",
        "0x2 fmul",
        "",
        "x",
    )
    assert result.listings == {FIRST.program: "0x2 fmul"}


def test_lines_of_other_kinds_are_ignored() -> None:
    assert drawn(FRAGMENT, SUBMIT.format(flags=1)) == drawn(
        "@message something else", FRAGMENT, "a line", SUBMIT.format(flags=1), "MESA: warning"
    )


def test_every_pass_counts_for_its_own_layer() -> None:
    other = next(draw for draw in PASSES if draw.layer != FIRST.layer)
    passes: list[Pass] = [FIRST, other]
    parsed = parse_transcript(
        ["@draw 0", FRAGMENT, SUBMIT.format(flags=1), "@draw 1", FRAGMENT, SUBMIT.format(flags=1)], passes
    )
    assert {layer: len(jobs) for layer, jobs in parsed.jobs.items()} == {FIRST.layer: 1, other.layer: 1}


NOP = "nop nop, r0, r0"
COORDINATE = [f"0x1 {NOP} ; fmul r0, vary, ra15", f"0x1 fadd ra0, r0, r5 ; {NOP}", f"0x1 {NOP} ; mov tmu0_s, ra0"]
LOAD = f"0xa load_tmu0 {NOP} ; {NOP}"
STORE = [f"0x1 mov tlb_color_all, r2 ; {NOP}", f"0x3 sig_end {NOP} ; {NOP}"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([*COORDINATE, LOAD], ["fetches"] * 4),
        ([f"0x1 {NOP} ; fmul r1, uni, r4.8a"], ["store"]),  # no texel was loaded
        ([LOAD, "0x1 fadd ra1, ra1, r1 ; fmul r1, uni, r4.8a", *STORE], ["fetches", "products", "store", "store"]),
        ([LOAD, f"0x1 mov ra3, r4 ; {NOP}", f"0x1 {NOP} ; fmul r1, uni, ra3"], ["fetches", "products", "products"]),
        # A copy that is overwritten is not a texel.
        ([LOAD, f"0x1 mov r3, r4 ; {NOP}", f"0x1 mov r3, uni ; {NOP}", f"0x1 {NOP} ; fmul r1, uni, r3", LOAD],
         ["fetches", "products", "waits", "waits", "fetches"]),
        # The result of a special function is in the same register.
        ([LOAD, f"0x1 mov sfu_exp, r4 ; {NOP}", f"0x1 {NOP} ; fmul r1, uni, r4"], ["fetches", "products", "store"]),
        # A sum that a coordinate waits for is read by other operations, too.
        ([f"0x1 fadd rb8, rb7, r1 ; {NOP}", f"0x1 fmax tmu0_t, ra0, rb8 ; {NOP}",
          f"0x1 fadd r1, rb8, r2 ; {NOP}", LOAD],
         ["waits", "fetches", "waits", "fetches"]),
        # An operation reads before the other one of its instruction writes.
        ([f"0x1 mov ra1, uni ; {NOP}", "0x1 mov ra1, uni ; mov tmu0_t, ra1", LOAD], ["fetches", "fetches", "fetches"]),
    ],
)  # fmt: skip
def test_an_instruction_has_a_purpose(lines: list[str], expected: list[str]) -> None:
    assert purposes(lines) == expected
