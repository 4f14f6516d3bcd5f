"""Files of a training run, and resuming it.

model.keras   the best weights on the val split so far, with Keras' own layers; for the export
state.npz     the state for --resume, of the last validated epoch
history.json  one entry for each epoch
config.json   the arguments of the run
recipe.yaml   its recipe, including defaults
labels.txt    one label on each line
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
    """State of a run after some epochs.

    Attributes:
        epoch: number of finished epochs.
        weights: trainable weights.
        optimizer: the optimiser's variables.
        average: moving average of the weights; empty if disabled.
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
    """Folder of a run, whose files are written under a temporary name and then renamed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def check_new(self) -> None:
        """Check that a new run can be started, without writing.

        Raises:
            InputError: the folder has a run.
        """
        if (self.path / "config.json").exists():
            raise InputError(f"{self.path}: holds a run already; continue it with --resume or choose another --out")

    def start(self, config: dict[str, Any], recipe: str, labels: tuple[str, ...]) -> None:
        """Create the folder of a new run.

        Raises:
            InputError: the folder has a run.
        """
        self.check_new()
        self.path.mkdir(parents=True, exist_ok=True)
        self._write("labels.txt", "".join(f"{label}\n" for label in labels))
        self._write("recipe.yaml", recipe)
        self.keep_history([])
        self._write("config.json", _json(config))

    def resume(self, config: dict[str, Any], recipe: str) -> tuple[State | None, list[dict[str, float]]]:
        """Return the state and the history of the run; the state is None before the first validation.

        Raises:
            InputError: the folder has no run, or its run was started with other arguments or another recipe.
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
        # After an interruption between two files, the history can be of a later epoch than the state.
        return state, history[: state.epoch if state else 0]

    def keep(self, state: State, history: list[dict[str, float]]) -> None:
        """Write the state and the history."""
        arrays: dict[str, Any] = {
            f"{name}-{index}": value
            for name, values in (
                ("weights", state.weights),
                ("optimizer", state.optimizer),
                ("average", state.average),
                *((f"best{rank}", checkpoint.weights) for rank, checkpoint in enumerate(state.best)),
            )
            for index, value in enumerate(values)
        }
        about = {
            "epoch": state.epoch,
            "top": state.top,
            "best": [{"rank": checkpoint.rank, "epoch": checkpoint.epoch} for checkpoint in state.best],
        }
        # The history is first: a longer history than the state's can be truncated, a shorter one not be completed.
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
            Checkpoint(tuple(weights["rank"]), weights["epoch"], values(f"best{rank}"))
            for rank, weights in enumerate(about["best"])
        ]
        top = None if about["top"] is None else tuple(about["top"])
        return State(about["epoch"], values("weights"), values("optimizer"), values("average"), best, top)

    def _write(self, name: str, text: str) -> None:
        write_text(self.path / name, text)


def _first_difference(recorded: str, current: str) -> str:
    """Return the first lines in which two recipes differ: 'batch: 8 -> batch: 16'."""
    pairs = zip_longest(recorded.splitlines(), current.splitlines(), fillvalue="nothing")
    before, after = next(pair for pair in pairs if pair[0] != pair[1])
    return f"{before.strip()} -> {after.strip()}"


def _json(value: Any) -> str:
    return json.dumps(value, indent=1) + "\n"
