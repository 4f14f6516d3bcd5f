"""Documented commands of scripts in training/ have arguments that their parsers accept."""

from __future__ import annotations

import keras  # noqa: F401  children are copies of this process, and import it no more
from pages import arguments_of, script_lines
from parse_only import problems


def test_scripts_take_their_arguments() -> None:
    lines = {script: shown for script, shown in script_lines().items() if script.startswith("training/")}
    assert {"training/train.py", "training/evaluate.py"} <= set(lines)
    found = {
        str(one): problem
        for script, shown in lines.items()
        for one, problem in zip(shown, problems(script, [arguments_of(one) for one in shown]))
    }
    assert {one: problem for one, problem in found.items() if problem} == {}
