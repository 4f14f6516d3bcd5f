"""Transcripts of the vc4 driver: its lines, and their interpretation."""

from __future__ import annotations

import pytest
import tiny

from glsl_infer.program import Pass
from glsl_infer.tools.videocore.transcript import SKIPPED, Job, Measured, Shader, parse

PASSES = tiny.tiny_bundle(weights="uniform").manifest.passes
FIRST = PASSES[0]
FRAGMENT = "@says MESA_SHADER_FRAGMENT shader: 514 inst, 2 threads, 375 uniforms, 16 max-temps, 1037 estimated-cycles"
VERTEX = "@says MESA_SHADER_VERTEX shader: 21 inst, 1 threads, 3 uniforms, 3 max-temps, 22 estimated-cycles"
SUBMIT = (
    "SUBMIT_CL seq=1 bin_cl=225B shader_rec=576B(x8) uniforms=13056B bos=27 126x252 tiles=0..1,0..3 flags=0x{flags:x}"
)
JOB = Job(126, 252, 8, 8, False, 225 + 576 + 13056)


def drawn(*lines: str) -> Measured:
    """Return the measurements of the first pass alone, from these lines."""
    return parse(["@driver VC4 V3D 2.1", "@draw 0", *lines], [FIRST])


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
    assert result.jobs == {FIRST.layer: (JOB,)}
    assert result.frame == ()


def test_programs_compiled_before_the_first_draw_are_not_counted() -> None:
    parsed = parse([FRAGMENT, "KVALIDATE OK insts=514 tex_samples=25 uniforms=375 threaded=1", "@draw 0"], [FIRST])
    assert parsed.programs == {}
    assert parsed.failures[FIRST.program] == SKIPPED


def test_the_more_expensive_of_two_variants_counts() -> None:
    shorter = FRAGMENT.replace("514", "400")
    for lines in ([FRAGMENT, shorter], [shorter, FRAGMENT]):
        assert drawn(*lines).programs[FIRST.program].instructions == 514


def test_a_program_keeps_its_statistics_in_later_passes() -> None:
    shared = [draw for draw in PASSES if draw.program == FIRST.program]
    assert len(shared) > 1
    parsed = parse(["@draw 0", FRAGMENT, "@draw 1", SUBMIT.format(flags=1)], shared)
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
        "@says something else", FRAGMENT, "a line", SUBMIT.format(flags=1), "MESA: warning"
    )


def test_every_pass_counts_for_its_own_layer() -> None:
    other = next(draw for draw in PASSES if draw.layer != FIRST.layer)
    passes: list[Pass] = [FIRST, other]
    parsed = parse(["@draw 0", FRAGMENT, SUBMIT.format(flags=1), "@draw 1", FRAGMENT, SUBMIT.format(flags=1)], passes)
    assert {layer: len(jobs) for layer, jobs in parsed.jobs.items()} == {FIRST.layer: 1, other.layer: 1}
