#!/usr/bin/env python3
"""Write a model's card, models/NAME.md with its pictures, or check that it is up to date.

    python training/model_card.py grocery-x22-385 --run runs/g385 --evaluation test.json --evaluation val.json
    python training/model_card.py grocery-x22-385           # again, from models/cards/grocery-x22-385.{yaml,json}
    python training/model_card.py grocery-x22-385 --check   # changes nothing; exit code 1 if something is out of date

The first form collects what the card shows into models/cards/NAME.json; models/cards/NAME.yaml is written by hand.
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
from training.cards.sources import Place

MODELS = Path(__file__).resolve().parent.parent / "models"


def main(argv: list[str] | None = None) -> int:
    """Parse the arguments, write or check the card, and return the exit code."""
    parser = Parser(prog="model_card.py", description="Write or check a model's card.")
    add_arguments(parser)
    add_debug(parser)
    parser.set_defaults(run=run)
    return execute(parser, argv)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", metavar="NAME", help="the model: models/NAME.keras and models/NAME.glslnn")
    parser.add_argument(
        "--run",
        dest="runs",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="the run folder; several in their order",
    )
    parser.add_argument(
        "--evaluation",
        dest="evaluations",
        type=Path,
        action="append",
        default=[],
        metavar="FILE.json",
        help="what evaluate.py --json wrote; one for each split",
    )
    parser.add_argument("--models", type=Path, default=MODELS, metavar="DIR", help="where models lie (default: models)")
    parser.add_argument("--check", action="store_true", help="change nothing, and say what is out of date")


def run(args: argparse.Namespace) -> int:
    """Write the card, or check it."""
    place = Place(args.models, args.name)
    if args.check:
        if args.runs or args.evaluations:
            raise InputError("--check takes no --run and no --evaluation: it checks what was collected")
        wrong = list(problems(place))
        for problem in wrong:
            print(f"error: {problem}", file=sys.stderr)
        return 1 if wrong else 0
    words = sources.read_words(place.words)
    place.sha256()
    if args.runs or args.evaluations:
        collected = sources.collect(place, args.runs, args.evaluations)
    else:
        collected = sources.read_collected(place)
    write(place, words, collected)
    print(f"{place.card}, {', '.join(str(place.picture(which)) for which in _drawn(collected))}")
    return 0


def write(place: Place, words: sources.Words, collected: dict[str, Any]) -> None:
    """Write the card and its pictures."""
    main_one = sources.main_evaluation(collected["evaluations"])
    drawn = {
        "curves": pictures.curves(collected["runs"]),
        "confusion": pictures.confusion(main_one, sources.best_engine(main_one)),
    }
    written = text.card(place, words, collected)
    for which, data in drawn.items():
        place.picture(which).parent.mkdir(exist_ok=True)
        with writing(place.picture(which)) as file:
            file.write(data)
    write_text(place.card, written)


def problems(place: Place) -> Iterator[str]:
    """Yield what is out of date, in words: the card's text, a picture, or numbers of another file.

    Raises:
        InputError: a file that the card is made from is missing or unusable, or the model is another than was measured.
    """
    again = f"write it again: python training/model_card.py {place.name}"
    words, collected = sources.read_words(place.words), sources.read_collected(place)
    expected = text.card(place, words, collected).splitlines()
    there = place.card.read_text("utf-8").splitlines() if place.card.is_file() else []
    if not there:
        yield f"{place.card}: no such file; {again}"
    elif there != expected:
        number = next(
            (i for i, pair in enumerate(zip(there, expected)) if pair[0] != pair[1]), min(len(there), len(expected))
        )
        line = there[number] if number < len(there) else "(missing)"
        yield f"{place.card}: line {number + 1} is out of date ('{line:.60}'); {again}"
    for which, data in _drawn(collected).items():
        if pictures.shows(place.picture(which)) != pictures.shown(data):
            yield f"{place.picture(which)}: missing, or shows other numbers; {again}"


def _drawn(collected: dict[str, Any]) -> dict[str, Any]:
    """Return what each picture shows, by its name."""
    main_one = sources.main_evaluation(collected["evaluations"])
    return {
        "curves": pictures.curves_data(collected["runs"]),
        "confusion": pictures.confusion_data(main_one, sources.best_engine(main_one)),
    }


if __name__ == "__main__":
    sys.exit(main())
