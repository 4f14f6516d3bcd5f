"""Loops in shaders with long arrays: the texts, and the shaders that remain as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tiny import tiny_bundle

from glsl_infer.bundle import Bundle
from glsl_infer.program import ShaderProgram, Slice
from glsl_infer.runtime.drivers.llvmpipe import fetch_loops
from glsl_infer.runtime.drivers.llvmpipe.fetch_loops import LEAST_FETCHES, MEMBER, UNIFORM, looped, with_loops

HEAD = """uniform sampler2D source;
uniform vec4 weights[{}];

void main() {{
    vec4 s, t;
    vec4 sum = weights[{}];"""
TAIL = "    gl_FragColor = store(sum);\n}\n"
FETCHES = LEAST_FETCHES + 2


def shader(fetches: int = FETCHES, step: float = 0.25, sampler: str = "source") -> str:
    """Return a shader with two products for each texel, whose second one adds its z after the next fetch."""
    lines = [HEAD.format(2 * fetches + 1, 2 * fetches), "    float left;", "    left = WAIT(coord0.x);"]
    before: list[str] = []
    for k in range(fetches):
        texel, index = "ts"[k % 2], 2 * k
        right = f" + {step * k:.9g}" if k else ""
        lines += [
            f"    {texel} = texture2D({sampler}, vec2(left{right}, WAIT(coord0.y + {-0.5 * k:.9g})));",
            *before,
            f"    sum += weights[{index}] * {texel}.x;",
            f"    sum.xyw += weights[{index + 1}].xyw * {texel}.y;",
        ]
        before = [f"    sum.z += weights[{index + 1}].z * {texel}.y;"]
    return "\n".join([*lines, *before, TAIL])


def test_fetches_become_a_loop() -> None:
    rewritten = with_loops(shader())
    assert rewritten is not None
    text, rows = rewritten
    assert text.count("texture2D(") == 1
    assert f"uniform vec4 {UNIFORM}[{FETCHES}];\nvoid main" in text
    loop = text[text.index("    for (") : text.index(TAIL)]
    assert loop.splitlines() == [
        f"    for (int k = 0; k < {FETCHES}; k++) {{",
        f"        vec4 at = {UNIFORM}[k + 0];",
        "        t = texture2D(source, vec2(coord0.x + at.x, coord0.y + at.y));",
        "        int first = int(at.z);",
        "        sum += weights[first + 0] * t.x;",
        "        sum.xyw += weights[first + 1].xyw * t.y;",
        "        sum.z += weights[first + 1].z * t.y;",
        "    }",
    ]
    assert rows == [(0.25 * k, -0.5 * k, 2.0 * k, 0.0) for k in range(FETCHES)]


PENDING = "    sum.z += weights[1].z * t.y;\n"
NEXT = "    sum += weights[2] * s.x;\n"


@pytest.mark.parametrize(
    "text",
    [
        shader(LEAST_FETCHES - 1),
        shader().replace("weights[4] *", "weights[4] * 2.0 *"),
        shader().replace(f"{PENDING}{NEXT}", f"{NEXT}{PENDING}"),
        shader().replace("sum = ", f"{UNIFORM} = "),
        shader().replace("left = WAIT(coord0.x);", ""),
        TAIL,
    ],
    ids=[
        "a few fetches",
        "another statement",
        "another order of sums",
        "the name",
        "another coordinate",
        "without fetches",
    ],
)
def test_other_shaders_remain(text: str) -> None:
    assert with_loops(text) is None


def test_fetches_of_two_textures_become_two_loops() -> None:
    first, second = shader(), shader(sampler="other")
    body = second[second.index("    left = ") : second.index(TAIL)]
    rewritten = with_loops(first.replace(TAIL, body + TAIL))
    assert rewritten is not None
    text, rows = rewritten
    assert [text.count(piece) for piece in ("texture2D(source,", "texture2D(other,", "for (")] == [1, 1, 2]
    assert f"{UNIFORM}[k + {FETCHES}]" in text and len(rows) == 2 * FETCHES


def bundle(*texts: str) -> Bundle:
    """Return a bundle with a program and a draw for each text."""
    tiny = tiny_bundle()
    uniforms = {"weights": 4 * (2 * FETCHES + 1)}
    programs = tuple(ShaderProgram(f"p{k}", "v", f"f{k}", ("source",), 1, uniforms) for k in range(len(texts)))
    array = {"weights": Slice("floats", 0, uniforms["weights"])}
    passes = tuple(replace(tiny.manifest.passes[0], program=program.name, uniforms=array) for program in programs)
    members = {f"f{k}": text.encode() for k, text in enumerate(texts)}
    members["floats"] = np.zeros(uniforms["weights"], "<f4").tobytes()
    return replace(
        tiny, manifest=replace(tiny.manifest, programs=programs, passes=passes, floats=("floats",)), members=members
    )


LONG = 2 * FETCHES + 1
LIMIT = LONG + FETCHES


def test_programs_with_other_distances_are_merged() -> None:
    result = looped(bundle(shader(), shader(step=0.125)), LONG - 1, LIMIT)
    (program,) = result.manifest.programs
    assert program.uniforms == {"weights": 4 * LONG, UNIFORM: 4 * FETCHES}
    assert {draw.program for draw in result.manifest.passes} == {program.name}
    assert result.manifest.floats == ("floats", MEMBER)
    values = np.frombuffer(result.members[MEMBER], "<f4").reshape(2, FETCHES, 4)
    for draw, rows, step in zip(result.manifest.passes, values, (0.25, 0.125)):
        position = draw.uniforms[UNIFORM]
        assert isinstance(position, Slice)
        assert (position.offset, position.count) in ((0, rows.size), (rows.size, rows.size))
        np.testing.assert_array_equal(rows[:, 0], step * np.arange(FETCHES))


@pytest.mark.parametrize("most, limit", [(LONG, LIMIT), (LONG - 1, LIMIT - 1)], ids=["a short array", "no space"])
def test_bundles_without_long_arrays_are_unchanged(most: int, limit: int) -> None:
    before = bundle(shader())
    assert looped(before, most, limit) is before


def test_only_long_sequences_are_loops() -> None:
    """Texels of another texture between two sequences remain single fetches, and no order of sums changes."""
    single = "    t = texture2D(other, vec2(coord1.x, WAIT(coord1.y)));\n    sum += weights[0] * t.x;\n"
    text = shader().replace(TAIL, single + TAIL)
    rewritten = fetch_loops.with_loops(text)
    assert rewritten is not None
    assert "texture2D(other, vec2(coord1.x + 0.000000000e+00, coord1.y + 0.000000000e+00));" in rewritten[0]
    assert rewritten[0].count("texture2D(") == 2
