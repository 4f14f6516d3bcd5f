"""What a card is made from: ``models/cards/NAME.yaml``, written by hand, and ``NAME.json``, collected from a run.

The JSON file keeps of the run folders and of the evaluations whatever the card shows, so that a card can be written
again, and checked, where the run folders are long gone.
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
"""What ``evaluate.py --json`` writes of one split, without what a card does not show."""


@dataclass(frozen=True)
class Words:
    """What a person writes in ``NAME.yaml``; Markdown is welcome in all of it.

    Attributes:
        title: what the model does, in a line.
        description: a paragraph.
        network: architecture and size.
        data: the data set, with its source.
        licence: that of the data, and what follows from it.
        intended_use: what it is for.
        limits: what it is not for, one entry a point.
        machine: what it was trained on.
        train: the commands that trained it, in order.
        export: the command that exported it, where it is not the plain one.
        notes: anything else.
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
class Place:
    """Where the files of one model's card lie: in ``models``, ``models/cards`` and ``models/NAME``."""

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
    def words(self) -> Path:
        """What a person wrote."""
        return self.models / "cards" / f"{self.name}.yaml"

    @property
    def collected(self) -> Path:
        """What was collected."""
        return self.models / "cards" / f"{self.name}.json"

    def picture(self, which: str) -> Path:
        """Return the place of one of the card's pictures, by its name without ``.png``."""
        return self.models / self.name / f"{which}.png"

    def sha256(self) -> dict[str, str]:
        """Return the sha256 of both model files, as ``model`` and ``bundle``.

        Raises:
            InputError: one is missing.
        """
        digests = {}
        for key, path in (("model", self.keras), ("bundle", self.bundle)):
            if not path.is_file():
                raise InputError(f"{path}: no such file; a card describes NAME.keras and NAME.glslnn in {self.models}")
            digests[key] = hashlib.sha256(path.read_bytes()).hexdigest()
        return digests


def read_words(path: Path) -> Words:
    """Read what a person wrote.

    Raises:
        InputError: the file is missing or no YAML, a field is missing, unknown, empty or of the wrong kind.
        MissingExtraError: PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError:
        raise MissingExtraError.of("PyYAML", "pyyaml", "a model card") from None
    known = {field.name: field for field in fields(Words)}
    try:
        data = yaml.safe_load(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; write one with {', '.join(known)}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path}: cannot be read as YAML ({' '.join(str(error).split())})") from None
    if not isinstance(data, dict):
        raise InputError(f"{path}: holds no fields; write one with {', '.join(known)}")
    unknown, missing = sorted(map(str, set(data) - set(known))), sorted(set(known) - set(data) - {"export", "notes"})
    if unknown or missing:
        raise InputError(
            f"{path}: {'unknown' if unknown else 'missing'} field '{(unknown or missing)[0]}'; "
            f"the fields are {', '.join(known)}"
        )
    for key, value in data.items():
        many = key in ("limits", "train")
        given = value if isinstance(value, list) and many else [value]
        if (
            (many and given is not value)
            or not given
            or not all(isinstance(text, str) and text.strip() for text in given)
        ):
            raise InputError(f"{path}: '{key}' must be {'a list of texts' if many else 'a text'}, not {value!r:.60}")
        data[key] = tuple(text.strip() for text in given) if many else value.strip()
    return Words(**data)


def collect(place: Place, runs: Sequence[Path], evaluations: Sequence[Path]) -> dict[str, Any]:
    """Collect what the card shows from run folders and files of ``evaluate.py --json``, and write it to its place.

    Args:
        place: where the model lies.
        runs: the run folders, in order where several followed each other; the last made the model.
        evaluations: one for each split; each of the very files in ``place``, and of the whole split.

    Raises:
        InputError: something is missing, unreadable, or was measured on other files.
    """
    if not runs or not evaluations:
        raise InputError(f"{place.collected}: give --run DIR and --evaluation FILE.json to collect what the card shows")
    measured: dict[str, Evaluation] = {}
    for path in evaluations:
        evaluation = _evaluation(path, place)
        if evaluation["split"] in measured:
            raise InputError(f"{path}: a second evaluation of the split '{evaluation['split']}'; give one of each")
        measured[evaluation["split"]] = evaluation
    shown = main_evaluation(measured)
    for evaluation in measured.values():
        for engine, result in evaluation["results"].items():
            if evaluation is not shown or engine != best_engine(shown):
                del result["confusion"], result["per_class"]
    collected = {"format": FORMAT, "runs": [_run(path) for path in runs], "evaluations": measured}
    place.collected.parent.mkdir(parents=True, exist_ok=True)
    write_text(place.collected, _lines(collected) + "\n")
    return collected


def read_collected(place: Place) -> dict[str, Any]:
    """Read what was collected.

    Raises:
        InputError: it is missing, of another format, or does not belong to the files of the model as they are.
    """
    if not place.collected.is_file():
        raise InputError(f"{place.collected}: nothing collected yet; give --run DIR and --evaluation FILE.json")
    collected: dict[str, Any] = _json(place.collected)
    if collected.get("format") != FORMAT:
        raise InputError(f"{place.collected}: format {collected.get('format')}, not {FORMAT}; collect it again")
    for split, evaluation in collected["evaluations"].items():
        _same_files(evaluation, place, f"{place.collected}: the {split} split was")
    return collected


def main_evaluation(evaluations: dict[str, Evaluation]) -> Evaluation:
    """Return the evaluation whose mistakes are shown: that of the test split where there is one."""
    return evaluations["test"] if "test" in evaluations else next(iter(evaluations.values()))


def best_engine(evaluation: Evaluation) -> str:
    """Return the engine whose mistakes are shown: the one nearest to what people run."""
    return next(engine for engine in ("gpu", "exact", "float") if engine in evaluation["results"])


def _evaluation(path: Path, place: Place) -> Evaluation:
    evaluation: Evaluation = _json(path)
    if not {"results", "comparisons", "sha256", "split"} <= set(evaluation):
        raise InputError(f"{path}: not written by evaluate.py --json")
    if evaluation["limit"]:
        raise InputError(f"{path}: was made with --limit {evaluation['limit']}; a card needs the whole split")
    _same_files(evaluation, place, f"{path}: was")
    return {key: value for key, value in evaluation.items() if key not in ("format", "model", "bundle", "limit")}


def _same_files(evaluation: Evaluation, place: Place, what: str) -> None:
    files = {"model": place.keras, "bundle": place.bundle}
    for key, digest in place.sha256().items():
        if evaluation["sha256"].get(key, digest) != digest:
            raise InputError(f"{what} measured on another file than {files[key]} is now; evaluate that one")


def _run(path: Path) -> dict[str, Any]:
    """Return history, arguments and recipe of a run folder."""
    if not (path / "history.json").is_file():
        raise InputError(f"{path}: no run folder; it has no history.json")
    recipe = path / "recipe.yaml"
    config = path / "config.json"
    history = [
        {key: round(value, 5) if isinstance(value, float) else value for key, value in entry.items()}
        for entry in _json(path / "history.json")
    ]
    if not history or not all("epoch" in entry for entry in history):
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
    """Return JSON with a line for each entry; what is short, as an epoch of the history, has one line in all."""
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
