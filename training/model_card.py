#!/usr/bin/env python3
"""Write a model's card, models/NAME.md with its images, or check that it is up to date.

    python training/model_card.py grocery-x22-385 --run runs/g385 --evaluation test.json --evaluation val.json
    python training/model_card.py grocery-x22-385           # again, from models/cards/grocery-x22-385.{yaml,json}
    python training/model_card.py grocery-x22-385 --check   # changes nothing; exit code 1 if something is out of date

The first form collects the card's data in models/cards/NAME.json. models/cards/NAME.yaml is written by hand;
docs/guide/train-x22.md has its fields.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from glsl_infer.cli.execution import Parser, add_debug, execute
from glsl_infer.errors import InputError
from glsl_infer.support.files import write_text, writing
from training.cards import pictures, sources, text
from training.cards.sources import CardFiles

MODELS = Path(__file__).resolve().parent.parent / "models"


def main(argv: list[str] | None = None) -> int:
    """Parse the arguments, write or check the card, and return the exit code."""
    parser = Parser(prog="model_card.py", description="Write a model's card, or check that it is up to date.")
    parser.examples = (
        "python training/model_card.py grocery-x22-385 --run runs/g385 --evaluation runs/g385/test.json",
        "python training/model_card.py grocery-x22-385",
        "python training/model_card.py grocery-x22-385 --check",
    )
    add_arguments(parser)
    add_debug(parser)
    parser.set_defaults(run=run)
    return execute(parser, argv)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", metavar="NAME", help="The model's name: models/NAME.keras and models/NAME.glslnn.")
    parser.add_argument(
        "--run",
        dest="runs",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="The folder of the training. Repeat it for trainings that followed each other.",
    )
    parser.add_argument(
        "--evaluation",
        dest="evaluations",
        type=Path,
        action="append",
        default=[],
        metavar="FILE.json",
        help="A result of evaluate.py --json. Repeat it for each split.",
    )
    parser.add_argument(
        "--models", type=Path, default=MODELS, metavar="DIR", help="The folder of the models (default: models)."
    )
    parser.add_argument(
        "--check", action="store_true", help="Write nothing, and list the parts of the card that are out of date."
    )


def run(args: argparse.Namespace) -> int:
    """Write the card, or check it."""
    files = CardFiles(args.models, args.name)
    if args.check:
        if args.runs or args.evaluations:
            raise InputError("--check takes no --run and no --evaluation: it checks what was collected")
        found_problems = list(problems(files))
        for problem in found_problems:
            print(f"error: {problem}", file=sys.stderr)
        return 1 if found_problems else 0
    card_text = sources.read_card_text(files.text)
    files.sha256()
    if args.runs or args.evaluations:
        collected = sources.collect(files, args.runs, args.evaluations)
    else:
        collected = sources.read_collected(files)
    write(files, card_text, collected)
    print(f"{files.card}, {', '.join(str(files.picture(stem)) for stem in _image_data(collected))}")
    return 0


def write(files: CardFiles, card_text: sources.CardText, collected: dict[str, Any]) -> None:
    """Write the card and its images."""
    evaluation = sources.main_evaluation(collected["evaluations"])
    images = {
        "curves": pictures.curves(collected["runs"]),
        "confusion": pictures.confusion(evaluation, sources.best_engine(evaluation)),
    }
    markdown = text.card(files, card_text, collected)
    for name, data in images.items():
        files.picture(name).parent.mkdir(exist_ok=True)
        with writing(files.picture(name)) as file:
            file.write(data)
    write_text(files.card, markdown)


def problems(files: CardFiles) -> Iterator[str]:
    """Yield descriptions of outdated files: the text of the card, an image, or its data.

    Raises:
        InputError: a source of the card is missing or unusable, or another model was measured.
    """
    advice = f"write it again: python training/model_card.py {files.name}"
    card_text, collected = sources.read_card_text(files.text), sources.read_collected(files)
    expected = text.card(files, card_text, collected).splitlines()
    lines = files.card.read_text("utf-8").splitlines() if files.card.is_file() else []
    if not lines:
        yield f"{files.card}: no such file; {advice}"
    elif lines != expected:
        index = next(
            (i for i, pair in enumerate(zip(lines, expected)) if pair[0] != pair[1]), min(len(lines), len(expected))
        )
        line = lines[index] if index < len(lines) else "(missing)"
        yield f"{files.card}: line {index + 1} is out of date ('{line:.60}'); {advice}"
    for name, data in _image_data(collected).items():
        if pictures.shows(files.picture(name)) != pictures.shown(data):
            yield f"{files.picture(name)}: missing, or shows other numbers; {advice}"


def _image_data(collected: dict[str, Any]) -> dict[str, Any]:
    """Return the data of each image, by its name."""
    evaluation = sources.main_evaluation(collected["evaluations"])
    return {
        "curves": pictures.curves_data(collected["runs"]),
        "confusion": pictures.confusion_data(evaluation, sources.best_engine(evaluation)),
    }


if __name__ == "__main__":
    sys.exit(main())
