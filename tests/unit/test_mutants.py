"""scripts/bench/mutate.py: the mutants of a module, the choice of tests, and the import hook."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import mutate
from mutation_parts.mutants import of_module, pick
from mutation_parts.results import sample_killers
from pages import ROOT

SOURCE = '''"""A module."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a import b

MOST = 4


def inner(size: int, margin: int = 1) -> int:
    """Return the size without margins."""
    if size < 2 * margin or size > MOST:
        raise ValueError(f"{size} is below {2 * margin}")
    return max(size - 2 * margin, 0)
'''


def test_every_mutant_is_another_program() -> None:
    mutants = of_module("glsl_infer.ops.a", SOURCE)
    texts = [mutant.apply(SOURCE) for mutant in mutants]
    programs = {ast.dump(ast.parse(text)) for text in [SOURCE, *texts]}
    assert len(programs) == len(texts) + 1 == len({mutant.key for mutant in mutants}) + 1
    assert {mutant.kind for mutant in mutants} == {
        "comparison", "logic", "condition", "arithmetic", "constant", "returned", "deleted", "arguments"
    }  # fmt: skip
    assert all(ast.get_docstring(ast.parse(text)) == "A module." for text in texts)
    assert not any("below" in mutant.before and mutant.kind != "deleted" for mutant in mutants), "messages stay"
    default = next(mutant for mutant in mutants if mutant.before == "1")
    assert (default.function, default.lines) == ("inner", ())
    assert next(mutant for mutant in mutants if mutant.kind == "returned").lines == (15,)


def test_a_choice_has_every_module_and_is_the_same_for_a_seed() -> None:
    candidates = [mutant for name in "abc" for mutant in of_module(f"glsl_infer.ops.{name}", SOURCE)]
    chosen = pick(candidates, 9, 1)
    assert {mutant.module[-1] for mutant in chosen} == set("abc")
    assert len({mutant.key for mutant in chosen}) == len(chosen) == 9
    assert [mutant.key for mutant in pick(candidates, 9, 1)] == [mutant.key for mutant in chosen]


def test_each_function_has_its_turn_before_a_second_case() -> None:
    seconds = {"a::f[1]": 0.1, "a::f[2]": 0.2, "a::g": 3.0, "b::h[1]": 0.5, "b::h[2]": 0.4}
    order = mutate.in_rounds(list(seconds), seconds, first=["b::h[1]"])
    assert order == ["b::h[1]", "a::f[1]", "b::h[2]", "a::g", "a::f[2]"]


def test_one_killer_of_each_function_is_enough() -> None:
    assert list(sample_killers({"a::f[1]": "", "a::f[2]": ""})) == ["a::f[1]", "a::f[2]"]
    assert list(sample_killers({"a::f[1]": "", "a::f[2]": "", "a::g": ""})) == ["a::f[1]", "a::g"]


def test_the_hook_changes_a_module_in_a_process_and_in_its_children(tmp_path: Path) -> None:
    (mutant, *_) = [
        candidate
        for candidate in of_module(
            "glsl_infer.lowering.codegen", (ROOT / "glsl_infer/lowering/codegen.py").read_text("utf-8")
        )
        if candidate.function == "vec" and candidate.before.startswith('return f"vec{')
    ]
    source = mutant.apply((ROOT / "glsl_infer/lowering/codegen.py").read_text("utf-8"))
    settings = tmp_path / "hook.json"
    settings.write_text(json.dumps({"packages": mutate.PACKAGES, "module": mutant.module, "source": source}), "utf-8")
    child = "from glsl_infer.lowering.codegen import vec; print(vec([1.0, 2.0]))"
    code = f"import subprocess, sys; {child}; sys.stdout.flush(); subprocess.run([sys.executable, '-c', {child!r}])"
    paths = os.pathsep.join([str(mutate.HOOK), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "MUTATION_HOOK": str(settings)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["None", "None"]
