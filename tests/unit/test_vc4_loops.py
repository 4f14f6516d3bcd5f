"""Executions of each instruction: machine code with loops, and the loops of its shader."""

from __future__ import annotations

import hostile_shaders

from glsl_infer.bundle.shader_check import Loop, parse
from glsl_infer.tools.videocore.loops import Executed, executed

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
    written = [Loop(1, 3, 30), Loop(2, 3, 9), Loop(1, 50, 500), Loop(1, 2, 8)]
    assert executed(loop([FETCH]), written).fetches == 50
    assert executed([*loop([FETCH]), *loop([FETCH])], written).fetches == 3 + 50
    nested = loop([*loop([FETCH])])
    assert executed(nested, written).fetches == 9, "only two stand in each other"


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
