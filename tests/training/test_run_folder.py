"""A run's folder, and common features of the training commands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import keras  # noqa: F401  children are copies of this process, and import it no more
import numpy as np
import pytest
from command_line import run_python
from pages import arguments_of, script_lines
from parse_only import problems

from glsl_infer.cli.execution import Parser
from glsl_infer.errors import InputError
from training import command
from training.averaging import Checkpoint
from training.recipe import Recipe
from training.run_folder import RunFolder, State

RECIPE = Recipe().as_yaml()
CONFIG = {"data": "pictures", "input_size": "17"}
HISTORY = [{"epoch": 1, "loss": 2.0}, {"epoch": 2, "loss": 1.0}, {"epoch": 3, "loss": 0.5}]


def weights(value):
    return [np.full((2, 3), value, np.float32), np.full(11, -value, np.float32)]


STATE = State(
    2, weights(1), weights(2), weights(3), [Checkpoint((0.5, -1.0), n, weights(n)) for n in range(12)], (0.5,)
)


@pytest.fixture
def folder(tmp_path):
    run_folder = RunFolder(tmp_path / "runs" / "one")
    run_folder.start(CONFIG, RECIPE, ("a", "b"))
    return run_folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.path.iterdir()}


def test_a_new_run_writes_its_settings(folder):
    assert set(contents(folder)) == {"config.json", "history.json", "labels.txt", "recipe.yaml"}
    assert (folder.path / "labels.txt").read_text() == "a\nb\n"
    assert Recipe.read(folder.path / "recipe.yaml") == Recipe()
    assert folder.resume(CONFIG, RECIPE) == (None, [])


def test_a_second_start_is_refused_without_changing_the_folder(folder):
    before = contents(folder)
    for work in (folder.check_new, lambda: folder.start({}, "", ("c",))):
        with pytest.raises(InputError, match="--resume"):
            work()
    assert contents(folder) == before


def test_a_stored_state_is_restored(folder):
    folder.keep(STATE, HISTORY[:2])
    state, history = folder.resume(CONFIG, RECIPE)
    assert history == HISTORY[:2] and (state.epoch, state.top) == (2, (0.5,))
    for name in ("weights", "optimizer", "average"):
        for result, expected in zip(getattr(state, name), getattr(STATE, name)):
            assert np.array_equal(result, expected) and result.dtype == np.float32
    assert [(best.rank, best.epoch) for best in state.best] == [((0.5, -1.0), n) for n in range(12)]
    assert [float(best.weights[0][0, 0]) for best in state.best] == list(range(12))
    assert [path.name for path in folder.path.iterdir() if path.name.startswith(".")] == []


def test_a_history_that_is_ahead_is_cut(folder):
    folder.keep(STATE, HISTORY[:2])
    folder.keep_history(HISTORY)
    assert folder.resume(CONFIG, RECIPE)[1] == HISTORY[:2]


def test_a_missing_run_cannot_be_resumed(tmp_path):
    with pytest.raises(InputError, match="nowhere: no run to resume here"):
        RunFolder(tmp_path / "nowhere").resume(CONFIG, RECIPE)


def test_other_arguments_are_named(folder):
    with pytest.raises(
        InputError, match=r"other arguments \(data pictures -> others, width None -> 0.5\); choose anot"
    ):
        folder.resume({"data": "others", "input_size": "17", "width": "0.5"}, RECIPE)


@pytest.mark.parametrize(
    "changed, words", [({"batch": 7}, "batch: 32 -> batch: 7"), ({"seed": 2}, "seed: 1 -> seed: 2")]
)
def test_another_recipe_is_named(folder, changed, words):
    with pytest.raises(InputError, match=rf"another recipe \({words}\); give the same --recipe, --epochs"):
        folder.resume(CONFIG, Recipe().changed(**changed).as_yaml())


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b[: len(b) // 2], lambda b: b"PK no zip", lambda b: b"?"])
def test_a_damaged_state_is_refused(folder, damage):
    folder.keep(STATE, HISTORY[:2])
    path = folder.path / "state.npz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=r"state\.npz"):
        folder.resume(CONFIG, RECIPE)


def test_a_damaged_history_is_refused(folder):
    (folder.path / "history.json").write_text(json.dumps(HISTORY)[:-5])
    with pytest.raises(InputError, match="no run to resume here"):
        folder.resume(CONFIG, RECIPE)


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
    done = run_python("-c", program, folder=ROOT, KERAS_BACKEND=backend)
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
