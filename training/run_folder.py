"""What a training run leaves on disk, and how it is taken up again.

model.keras   the best weights on the val split so far, made of Keras' own layers: this one is exported
state.npz     everything that --resume needs, of the last epoch that was validated
history.json  one entry an epoch
config.json   the arguments of the run
recipe.yaml   its recipe, with every default spelled out
labels.txt    one label a line
logs/         for TensorBoard
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import keras
import numpy as np

from glsl_infer.errors import InputError
from glsl_infer.support.files import replacing, write_text, writing
from training.averaging import Checkpoint, Weights


@dataclass(frozen=True)
class State:
    """A run after some epochs.

    Attributes:
        epoch: epochs done.
        weights: trainable weights.
        optimizer: the optimiser's variables.
        average: the moving average of the weights; empty when there is none.
        best: the best checkpoints.
        top: rank of the weights in model.keras.
    """

    epoch: int
    weights: Weights
    optimizer: Weights
    average: Weights
    best: list[Checkpoint]
    top: tuple[float, ...] | None


class RunFolder:
    """The folder of one run; every file is written under a temporary name and renamed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def check_new(self) -> None:
        """Make sure that a new run can be started here; nothing is written.

        Raises:
            InputError: the folder holds a run already.
        """
        if (self.path / "config.json").exists():
            raise InputError(f"{self.path}: holds a run already; continue it with --resume or choose another --out")

    def start(self, config: dict[str, Any], recipe: str, labels: tuple[str, ...]) -> None:
        """Create the folder for a new run.

        Raises:
            InputError: it holds a run already.
        """
        self.check_new()
        self.path.mkdir(parents=True, exist_ok=True)
        self._write("labels.txt", "".join(f"{label}\n" for label in labels))
        self._write("recipe.yaml", recipe)
        self.keep_history([])
        self._write("config.json", _json(config))

    def resume(self, config: dict[str, Any], recipe: str) -> tuple[State | None, list[dict[str, float]]]:
        """Return the state and the history of the run in the folder; no state when no epoch was validated yet.

        Raises:
            InputError: there is none to resume, or it was started with other arguments or another recipe.
        """
        try:
            started = json.loads((self.path / "config.json").read_text("utf-8"))
            history: list[dict[str, float]] = json.loads((self.path / "history.json").read_text("utf-8"))
            recorded = (self.path / "recipe.yaml").read_text("utf-8")
        except (OSError, ValueError) as error:
            raise InputError(f"{self.path}: no run to resume here ({error})") from None
        changed = sorted(key for key in {*config, *started} if started.get(key) != config.get(key))
        if changed:
            differences = ", ".join(f"{key} {started.get(key)} -> {config.get(key)}" for key in changed)
            raise InputError(f"{self.path}: was started with other arguments ({differences}); choose another --out")
        if recorded != recipe:
            raise InputError(
                f"{self.path}: was started with another recipe ({_first_difference(recorded, recipe)}); give the same "
                "--recipe, --epochs, --batch and --seed, or choose another --out"
            )
        state = self._state()
        # An interruption between two files leaves the state of one epoch beside the history of a later one.
        return state, history[: state.epoch if state else 0]

    def keep(self, state: State, history: list[dict[str, float]]) -> None:
        """Write what is needed to go on from ``state``."""
        arrays: dict[str, Any] = {
            f"{name}-{index}": value
            for name, values in (
                ("weights", state.weights),
                ("optimizer", state.optimizer),
                ("average", state.average),
                *((f"best{number}", checkpoint.weights) for number, checkpoint in enumerate(state.best)),
            )
            for index, value in enumerate(values)
        }
        about = {
            "epoch": state.epoch,
            "top": state.top,
            "best": [{"rank": checkpoint.rank, "epoch": checkpoint.epoch} for checkpoint in state.best],
        }
        # The history first: too long beside an older state it is cut, too short it could not be completed.
        self.keep_history(history)
        with writing(self.path / "state.npz") as file:
            np.savez(file, about=np.array(json.dumps(about)), **arrays)

    def keep_history(self, history: list[dict[str, float]]) -> None:
        """Write history.json."""
        self._write("history.json", _json(history))

    def keep_model(self, model: keras.Model, name: str) -> None:
        """Save ``model`` as ``name``."""
        with replacing(self.path / name) as temporary:
            model.save(temporary)

    def _state(self) -> State | None:
        path = self.path / "state.npz"
        if not path.exists():
            return None
        try:
            with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                about = json.loads(str(file["about"]))
                arrays = {name: file[name] for name in file.files if name != "about"}
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise InputError(f"{path}: cannot be read ({error}); delete it to begin the run again") from None

        def values(name: str) -> Weights:
            return [arrays[f"{name}-{index}"] for index in range(sum(key.startswith(f"{name}-") for key in arrays))]

        best = [
            Checkpoint(tuple(entry["rank"]), entry["epoch"], values(f"best{number}"))
            for number, entry in enumerate(about["best"])
        ]
        top = None if about["top"] is None else tuple(about["top"])
        return State(about["epoch"], values("weights"), values("optimizer"), values("average"), best, top)

    def _write(self, name: str, text: str) -> None:
        write_text(self.path / name, text)


def _first_difference(recorded: str, given: str) -> str:
    """Return the first lines in which two recipes differ: 'batch: 8 -> batch: 16'."""
    pairs = zip_longest(recorded.splitlines(), given.splitlines(), fillvalue="nothing")
    before, after = next(pair for pair in pairs if pair[0] != pair[1])
    return f"{before.strip()} -> {after.strip()}"


def _json(value: Any) -> str:
    return json.dumps(value, indent=1) + "\n"
