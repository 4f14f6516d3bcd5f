"""What a training run leaves on disk, and how it is taken up again.

model.keras       the best epoch on the val split, made of Keras' own layers: this one is exported
last.keras        the last epoch, likewise
checkpoint.keras  the last epoch with the state of the optimiser, for --resume
history.json      one entry an epoch
config.json       the arguments of the run
labels.txt        one label a line
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import keras

from glsl_infer.errors import InputError


class RunFolder:
    """The folder of one run; every file is written under a temporary name and renamed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def start(self, config: dict[str, Any], labels: tuple[str, ...]) -> None:
        """Create the folder for a new run.

        Raises:
            InputError: it holds a run already.
        """
        if (self.path / "config.json").exists():
            raise InputError(f"{self.path}: holds a run already; continue it with --resume or choose another --out")
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / "labels.txt").write_text("".join(f"{label}\n" for label in labels), "utf-8")
        for name, value in (("history.json", []), ("config.json", config)):
            self._write_json(name, value)
            self._rename(name)

    def resume(self, config: dict[str, Any]) -> list[dict[str, float]]:
        """Return the history of the run in the folder.

        Raises:
            InputError: there is none to resume, or it was started with other arguments.
        """
        try:
            started = json.loads((self.path / "config.json").read_text("utf-8"))
            history: list[dict[str, float]] = json.loads((self.path / "history.json").read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{self.path}: no run to resume here ({error})") from None
        changed = sorted(key for key in config if started.get(key) != config[key])
        if changed:
            differences = ", ".join(f"{key} {started.get(key)} -> {config[key]}" for key in changed)
            raise InputError(f"{self.path}: was started with other arguments ({differences}); choose another --out")
        return history

    def checkpoint(self) -> keras.Model | None:
        """Return the compiled model of the last finished epoch, or None when no epoch finished."""
        path = self.path / "checkpoint.keras"
        return keras.saving.load_model(path) if path.exists() else None

    def save(self, training: keras.Model, plain: keras.Model, history: list[dict[str, float]], *, best: bool) -> None:
        """Write the files of one finished epoch; ``plain`` gets the weights of ``training``.

        All are written before the first is renamed: an interruption leaves the epoch before whole.
        """
        plain.set_weights(training.get_weights())
        models = {"last.keras": plain, **({"model.keras": plain} if best else {}), "checkpoint.keras": training}
        for name, model in models.items():
            model.save(self.path / f".tmp-{name}")
        self._write_json("history.json", history)
        for name in [*models, "history.json"]:
            self._rename(name)

    def _write_json(self, name: str, value: Any) -> None:
        (self.path / f".tmp-{name}").write_text(json.dumps(value, indent=1) + "\n", "utf-8")

    def _rename(self, name: str) -> None:
        (self.path / f".tmp-{name}").replace(self.path / name)
