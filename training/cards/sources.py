"""Sources of a card: ``models/cards/NAME.yaml``, written by hand, and ``NAME.json``, collected from a run.

The JSON file has all data of the run folders and evaluations for the card, so that it can be written and checked
without these folders.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from glsl_infer.errors import InputError, MissingExtraError
from glsl_infer.support.files import write_text

FORMAT = 1

Evaluation = dict[str, Any]
"""Result of ``evaluate.py --json`` for one split, reduced to the data of the card."""


@dataclass(frozen=True)
class CardText:
    """Content of ``NAME.yaml``, in Markdown.

    Attributes:
        title: the model's purpose, in a line.
        description: a paragraph.
        network: architecture and size.
        data: the data set, with its source.
        licence: licence of the data, and its consequences.
        intended_use: intended use.
        limits: unsuitable uses, one entry for each.
        machine: training machine.
        train: training commands, in order.
        export: export command, if not the default.
        notes: other remarks.
    """

    title: str
    description: str
    network: str
    data: str
    licence: str
    intended_use: str
    limits: tuple[str, ...]
    machine: str
    train: tuple[str, ...]
    export: str = ""
    notes: str = ""


@dataclass(frozen=True)
class CardFiles:
    """Files of a model's card, in ``models``, ``models/cards`` and ``models/NAME``."""

    models: Path
    name: str

    @property
    def keras(self) -> Path:
        """The Keras model."""
        return self.models / f"{self.name}.keras"

    @property
    def bundle(self) -> Path:
        """The exported model."""
        return self.models / f"{self.name}.glslnn"

    @property
    def card(self) -> Path:
        """The card."""
        return self.models / f"{self.name}.md"

    @property
    def text(self) -> Path:
        """The YAML file written by hand."""
        return self.models / "cards" / f"{self.name}.yaml"

    @property
    def collected(self) -> Path:
        """The collected JSON file."""
        return self.models / "cards" / f"{self.name}.json"

    def picture(self, stem: str) -> Path:
        """Return the path of an image of the card, by its name without ``.png``."""
        return self.models / self.name / f"{stem}.png"

    def sha256(self) -> dict[str, str]:
        """Return the sha256 of both model files, as ``model`` and ``bundle``.

        Raises:
            InputError: a file is missing.
        """
        digests = {}
        for key, path in (("model", self.keras), ("bundle", self.bundle)):
            if not path.is_file():
                raise InputError(f"{path}: no such file; a card describes NAME.keras and NAME.glslnn in {self.models}")
            digests[key] = hashlib.sha256(path.read_bytes()).hexdigest()
        return digests


def read_card_text(path: Path) -> CardText:
    """Read the YAML file of a card.

    Raises:
        InputError: the file is missing or not YAML, or a field is missing, unknown, empty or of the wrong type.
        MissingExtraError: PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError:
        raise MissingExtraError.of("PyYAML", "pyyaml", "a model card") from None
    allowed_fields = {field.name: field for field in fields(CardText)}
    try:
        data = yaml.safe_load(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; write one with {', '.join(allowed_fields)}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path}: cannot be read as YAML ({' '.join(str(error).split())})") from None
    if not isinstance(data, dict):
        raise InputError(f"{path}: holds no fields; write one with {', '.join(allowed_fields)}")
    unknown, missing = (
        sorted(map(str, set(data) - set(allowed_fields))),
        sorted(set(allowed_fields) - set(data) - {"export", "notes"}),
    )
    if unknown or missing:
        raise InputError(
            f"{path}: {'unknown' if unknown else 'missing'} field '{(unknown or missing)[0]}'; "
            f"the fields are {', '.join(allowed_fields)}"
        )
    for key, value in data.items():
        is_list = key in ("limits", "train")
        texts = value if isinstance(value, list) and is_list else [value]
        if (
            (is_list and texts is not value)
            or not texts
            or not all(isinstance(text, str) and text.strip() for text in texts)
        ):
            raise InputError(f"{path}: '{key}' must be {'a list of texts' if is_list else 'a text'}, not {value!r:.60}")
        data[key] = tuple(text.strip() for text in texts) if is_list else value.strip()
    return CardText(**data)


def collect(files: CardFiles, runs: Sequence[Path], evaluations: Sequence[Path]) -> dict[str, Any]:
    """Collect the data of a card from run folders and results of ``evaluate.py --json``, and save it.

    Args:
        files: files of the card.
        runs: run folders in order; the last one produced the model.
        evaluations: one for each complete split, of the files in ``files``.

    Raises:
        InputError: a file is missing or unreadable, or other model files were measured.
    """
    if not runs or not evaluations:
        raise InputError(f"{files.collected}: give --run DIR and --evaluation FILE.json to collect what the card shows")
    by_split: dict[str, Evaluation] = {}
    for path in evaluations:
        evaluation = _evaluation(path, files)
        if evaluation["split"] in by_split:
            raise InputError(f"{path}: a second evaluation of the split '{evaluation['split']}'; give one of each")
        by_split[evaluation["split"]] = evaluation
    shown_evaluation = main_evaluation(by_split)
    for evaluation in by_split.values():
        for engine, result in evaluation["results"].items():
            if evaluation is not shown_evaluation or engine != best_engine(shown_evaluation):
                del result["confusion"], result["per_class"]
    collected = {"format": FORMAT, "runs": [_run(path) for path in runs], "evaluations": by_split}
    files.collected.parent.mkdir(parents=True, exist_ok=True)
    write_text(files.collected, _lines(collected) + "\n")
    return collected


def read_collected(files: CardFiles) -> dict[str, Any]:
    """Read the collected data.

    Raises:
        InputError: the file is missing, has another format, or does not belong to the current model files.
    """
    if not files.collected.is_file():
        raise InputError(f"{files.collected}: nothing collected yet; give --run DIR and --evaluation FILE.json")
    collected: dict[str, Any] = _json(files.collected)
    if collected.get("format") != FORMAT:
        raise InputError(f"{files.collected}: format {collected.get('format')}, not {FORMAT}; collect it again")
    for split, evaluation in collected["evaluations"].items():
        _same_files(evaluation, files, f"{files.collected}: the {split} split was")
    return collected


def main_evaluation(evaluations: dict[str, Evaluation]) -> Evaluation:
    """Return the evaluation for the confusion matrix: that of the test split, if present."""
    return evaluations["test"] if "test" in evaluations else next(iter(evaluations.values()))


def best_engine(evaluation: Evaluation) -> str:
    """Return the engine for the confusion matrix: the one nearest to actual use."""
    return next(engine for engine in ("gpu", "exact", "float") if engine in evaluation["results"])


def _evaluation(path: Path, files: CardFiles) -> Evaluation:
    evaluation: Evaluation = _json(path)
    if not {"results", "comparisons", "sha256", "split"} <= set(evaluation):
        raise InputError(f"{path}: not written by evaluate.py --json")
    if evaluation["limit"]:
        raise InputError(f"{path}: was made with --limit {evaluation['limit']}; a card needs the whole split")
    _same_files(evaluation, files, f"{path}: was")
    return {key: value for key, value in evaluation.items() if key not in ("format", "model", "bundle", "limit")}


def _same_files(evaluation: Evaluation, files: CardFiles, subject: str) -> None:
    paths = {"model": files.keras, "bundle": files.bundle}
    for key, digest in files.sha256().items():
        if evaluation["sha256"].get(key, digest) != digest:
            raise InputError(f"{subject} measured on another file than {paths[key]} is now; evaluate that one")


def _run(path: Path) -> dict[str, Any]:
    """Return history, arguments and recipe of a run folder."""
    if not (path / "history.json").is_file():
        raise InputError(f"{path}: no run folder; it has no history.json")
    recipe = path / "recipe.yaml"
    config = path / "config.json"
    history = [
        {key: round(value, 5) if isinstance(value, float) else value for key, value in epoch.items()}
        for epoch in _json(path / "history.json")
    ]
    if not history or not all("epoch" in epoch for epoch in history):
        raise InputError(f"{path / 'history.json'}: has no epochs; a card describes a finished run")
    return {
        "name": path.name,
        "arguments": _json(config) if config.is_file() else {},
        "recipe": recipe.read_text("utf-8") if recipe.is_file() else "",
        "history": history,
    }


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as JSON ({error})") from None


def _lines(value: Any, indent: int = 0) -> str:
    """Return JSON with a line for each entry; short values, such as an epoch of the history, have a single line."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or len(flat) < 400:
        return flat
    keys = (
        [json.dumps(key, ensure_ascii=False) + ": " for key in value] if isinstance(value, dict) else [""] * len(value)
    )
    inner = value.values() if isinstance(value, dict) else value
    lines = [f"{' ' * (indent + 1)}{key}{_lines(item, indent + 1)}" for key, item in zip(keys, inner)]
    start, end = "{}" if isinstance(value, dict) else "[]"
    return f"{start}\n" + ",\n".join(lines) + f"\n{' ' * indent}{end}"
