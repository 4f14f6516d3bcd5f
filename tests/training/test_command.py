"""Common features of the training commands: numeric arguments, warnings, documented commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import keras  # noqa: F401  children are copies of this process, and import it no more
import pytest
from pages import arguments_of, script_lines
from parse_only import problems

from glsl_infer.cli.execution import Parser
from training import command

ROOT = Path(__file__).resolve().parents[2]


def test_wrong_arguments_are_one_line(capsys):
    parser = Parser(prog="train.py")
    parser.add_argument("--epochs", type=command.positive)
    parser.add_argument("--rate", type=command.rate)
    parser.add_argument("--range", type=command.value_range)
    parsed = vars(parser.parse_args(["--epochs=3", "--rate=1e-2", "--range", "-1,1"]))
    assert parsed == {"epochs": 3, "rate": 0.01, "range": (-1.0, 1.0)}
    for argument, wording in {
        "--epochs=0": "0 is not a whole number of at least 1",
        "--epochs=2.5": "2.5 is not a whole number",
        "--rate=0": "0; give a number above 0, at most 1",
        "--rate=nan": "nan; give a number",
        "--rate=fast": "fast; give a number",
        "--range=1": "1; give LOW,HIGH, such as -1,1",
        "--range=0,high": "0,high; give LOW,HIGH",
        "--epoch=3": "unrecognized arguments",
    }.items():
        with pytest.raises(SystemExit) as stopped:
            parser.parse_args([argument])
        message = capsys.readouterr().err
        assert stopped.value.code == 2 and wording in message and message.count("\n") == 1


def test_a_warning_has_its_names_below(capsys):
    command.warn("two are gone:", ["a", "b"])
    assert capsys.readouterr().err == "warning: two are gone:\n  a\n  b\n"


@pytest.mark.parametrize(
    "program, backend, message",
    [
        ("import sys; sys.modules['keras'] = None; import training.backend", "tensorflow", "pip install tensorflow"),
        ("import training.backend", "nonsense", "KERAS_BACKEND=nonsense: "),
    ],
)
def test_a_missing_backend_is_reported_with_advice(program, backend, message):
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ") and message in done.stderr and done.stderr.count("\n") == 1


def test_folders_and_recipes_need_no_keras():
    script = "import sys, training.data, training.command, training.crops; assert 'keras' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)


def test_scripts_take_their_arguments() -> None:
    lines = {script: commands for script, commands in script_lines().items() if script.startswith("training/")}
    assert {"training/train.py", "training/evaluate.py"} <= set(lines)
    results = {
        str(command): problem
        for script, commands in lines.items()
        for command, problem in zip(commands, problems(script, [arguments_of(command) for command in commands]))
    }
    assert {command: problem for command, problem in results.items() if problem} == {}
