"""Fetch published networks and convert them; without a name, list them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from glsl_infer.cli import arguments, progress
from glsl_infer.cli.terminal_text import print_result
from glsl_infer.errors import InputError

if TYPE_CHECKING:
    from glsl_infer.tools.get.catalogue import Model


EXAMPLES = (
    "glsl-infer get",
    "glsl-infer get faces hands",
    "glsl-infer get dogs --file WEIGHTS.h5 --labels LABELS.txt",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="Names of networks, or of tasks that use them (default: list all networks).",
    )
    parser.add_argument(
        "--again", action="store_true", help="Convert the networks again, even if they have been converted before."
    )
    advanced = arguments.group(parser, arguments.ADVANCED)
    advanced.add_argument(
        "--file", type=Path, metavar="FILE", help="Use this file of the network instead of fetching it."
    )
    advanced.add_argument(
        "--labels", type=Path, metavar="FILE.txt", help="With --file, the labels of a classifier, one per line."
    )
    arguments.add_json(parser, "Print JSON.")


def run(args: argparse.Namespace) -> int:
    """List the networks, or fetch some."""
    from glsl_infer.tools.get import catalogue

    models = catalogue.read()
    if not args.names:
        for option, value in (("--file", args.file), ("--labels", args.labels), ("--again", args.again)):
            if value:
                raise InputError(f"{option} needs the name of a network; give it as well")
        print_result(args, *_listed(models.values()))
        return 0
    chosen = catalogue.chosen(args.names, models)
    if args.labels is not None and args.file is None:
        raise InputError("--labels needs --file; give both")
    if args.file is not None:
        chosen = [_alone(args, models)]
    files = [_get(model, args) for model in chosen]
    named = [model for model in chosen if any(model.is_called(name) for name in args.names)]
    print_result(args, files, [f"try it: {command_for(model)}" for model in named])
    return 0


def command_for(model: Model) -> str:
    """Return a command that uses a network."""
    from glsl_infer.cli import detect, landmarks, segment

    for module in (detect, landmarks, segment):
        tasks = [task for task in model.tasks if task in module.TASKS]
        if tasks:
            option = "" if tasks[0] == module.TASKS[0] else f" --task {tasks[0]}"
            suffix = "png" if module is segment else "jpg"
            return f"glsl-infer {module.__name__.rpartition('.')[2]} photo.jpg{option} -o {tasks[0]}.{suffix}"
    return f"glsl-infer classify photo.jpg --model {model.name}"


def _alone(args: argparse.Namespace, models: dict[str, Model]) -> Model:
    """Return the network of the file in ``--file``."""
    if len(args.names) != 1 or args.names[0] not in models:
        raise InputError(f"--file needs the name of one network; give one of: {', '.join(models)}")
    return models[args.names[0]]


def _listed(models: Iterable[Model]) -> tuple[list[dict[str, object]], list[str]]:
    """Return the networks as data, and as lines."""
    from glsl_infer.tools.get import exporting

    keys = ("name", "what", "tasks", "bytes", "licence", "zero_ms")
    rows, lines = [], [f"{'name':30} {'MB':>4} {'Pi Zero':>8}  {'licence':10} {'fetched':7}  task: purpose"]
    for model in models:
        here = exporting.bundle_of(model).is_file()
        rows.append({**{key: getattr(model, key) for key in keys}, "here": here})
        time = "-" if model.zero_ms is None else f"{model.zero_ms} ms"
        lines.append(
            f"{model.name:30} {model.bytes / 1e6:4.1f} {time:>8}  {model.licence:10} {'yes' if here else 'no':7}  "
            f"{', '.join(model.tasks) or 'classify'}: {model.what}"
        )
    return rows, [*lines, "Pi Zero: estimated time of a frame on a Pi Zero W. To fetch a network: glsl-infer get NAME"]


def _get(model: Model, args: argparse.Namespace) -> dict[str, object]:
    from glsl_infer.tools.get import exporting, fetching

    bundle = exporting.bundle_of(model)
    fetched = False
    with progress.status(f"get {model.name}") as say:
        if args.file is not None:
            exporting.require(model)
            exporting.make(model, fetching.provided(args.file, model, exporting.pin_of(model)), say, args.labels)
        elif not exporting.stored_file(model).is_file():
            exporting.require(model)
            say("fetching")
            labels = None if model.labels is None else fetching.fetch_labels(model.labels)
            exporting.make(model, fetching.fetch(model), say, labels)
            fetched = True
        elif args.again or not bundle.is_file():
            source = fetching.provided(exporting.stored_file(model), model, exporting.pin_of(model))
            exporting.make(model, source, say, exporting.labels_of(model))
    if not args.json:
        state = "is fetched" if fetched else "is there already"
        licence = f"{model.licence}: {exporting.licence_of(model)}"
        print(f"{model.name} {state}: {bundle} (by {model.author}; {licence})")
    return {"name": model.name, "bundle": str(bundle), "fetched": fetched, "licence": model.licence}
