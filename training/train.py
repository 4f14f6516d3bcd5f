#!/usr/bin/env python3
"""Train a network on a folder of images.

    python training/train.py --data data/trashnet --model x22 --stages 4 --input-size 129 --epochs 30 --out runs/trash
    python training/train.py --data data/grocery --input-size 257 --recipe recipes/grocery.yaml --out runs/g257

KERAS_BACKEND selects the framework (tensorflow by default, jax on a GPU). After an interruption, the same command with
--resume continues after the last validated epoch. training/run_folder.py lists the files in --out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from training.backend import keras

# isort: split

import numpy as np
from numpy.typing import NDArray

from glsl_infer.cli.execution import Parser, add_debug, execute
from glsl_infer.errors import InputError
from glsl_infer.runtime import images
from training import command, data, preview
from training.averaging import Weights
from training.efficientnet_lite import SCALES, efficientnet_lite
from training.logs import Log, StepBar
from training.loop import Loop, Pictures
from training.models import ACTIVATIONS, x22
from training.recipe import Recipe
from training.run_folder import RunFolder, State
from training.validation import RECALIBRATION_PICTURES

TEACHERS = {f"efficientnet_lite{variant}": variant for variant in range(len(SCALES))}
"""Architectures of ``--teacher`` other than X22: name and variant."""

MARGIN = 1.25
"""Size of training images relative to the network's input, so that crops keep detail."""


def main(argv: list[str] | None = None) -> int:
    """Parse the arguments, train, and return the exit code."""
    return execute(_parser(), argv, interrupted="--resume goes on after the last validated epoch")


def train(args: argparse.Namespace) -> None:
    """Train the epochs that are left, and update ``args.out``."""
    recipe = _recipe(args)
    if args.preview:
        images.format_of(args.preview)
    if args.data_parallel:
        _use_all_devices(recipe.batch)
    keras.utils.set_random_seed(recipe.seed)
    if args.model in TEACHERS:
        _refuse_options_of_x22(args, recipe)
    dataset = data.find(args.data)
    classes = len(dataset.labels)

    def build(size: int, **options: Any) -> keras.Model:
        if args.model in TEACHERS:
            return efficientnet_lite(TEACHERS[args.model], size, classes, **options)
        return x22(size, classes, width=args.width, stages=args.stages, activation=args.activation, **options)

    try:
        network = build(args.input_size)
    except ValueError as error:
        raise InputError(str(error)) from None
    start = _initial_weights(args.init, network) if args.init else None
    teacher = _teacher(args.teacher, classes) if args.teacher else None
    folder = RunFolder(args.out)
    config = _config(args)
    state: State | None = None
    history: list[dict[str, float]] = []
    if args.resume:
        state, history = folder.resume(config, recipe.as_yaml())
    else:
        folder.check_new()

    pictures = _read(dataset, args, recipe)
    if not args.resume:
        folder.start(config, recipe.as_yaml(), dataset.labels)
    if args.preview:
        preview.contact_sheet(args.preview, pictures.train, recipe, args.input_size)
    log = Log(args.out / "logs", recipe.epochs, len(history))
    loop = Loop(
        recipe=recipe,
        build=build,
        size=args.input_size,
        pictures=pictures,
        folder=folder,
        report=log.epoch,
        callbacks=lambda: [StepBar(max(len(pictures.train) // recipe.batch, 1))],
        teacher=teacher,
        start=start,
        history=history,
    )
    try:
        loop.run(state)
    finally:
        log.close()
    print(f"best: {_best(loop.history)} -> {args.out / 'model.keras'}")


KINDS = {
    "weights without averaging": "val_accuracy",
    "moving average of the weights": "val_accuracy_average",
    "average of the best checkpoints": "val_accuracy_best",
}
"""Key of the validation accuracy in the history, for each kind of weights."""


def _config(args: argparse.Namespace) -> dict[str, str]:
    """Return the arguments that a resumed run must have in common with the first, as text."""
    keys = ("model", "input_size", "width", "stages", "activation", "init", "teacher")
    config = {"data": " ".join(str(path) for path in args.data)}
    config |= {key: str(vars(args)[key]) for key in keys if vars(args)[key] is not None}
    return config | {"backend": keras.backend.backend()}


def _best(history: Sequence[Mapping[str, float]]) -> str:
    """Return a description of the weights with the best validation accuracy; the lower loss decides a tie."""
    score, record, key = max(
        ((kind, record, key) for record in history for kind, key in KINDS.items() if key in record),
        key=lambda best: (best[1][best[2]], -best[1][best[2].replace("accuracy", "loss")]),
    )
    return f"{score}, epoch {record['epoch']}, val accuracy {100 * record[key]:.2f} %"


def _read(dataset: data.Dataset, args: argparse.Namespace, recipe: Recipe) -> Pictures:
    train, val = dataset.splits["train"], dataset.splits["val"]
    print(f"reading {len(train.paths)} + {len(val.paths)} images", flush=True)
    train_split = data.read(train, round(args.input_size * MARGIN), strict=args.strict)
    val_split = data.read(val, args.input_size, strict=args.strict)
    sample_rows = np.random.default_rng(recipe.seed).permutation(len(train_split.paths))[:RECALIBRATION_PICTURES]
    sample = data.Split(tuple(train_split.paths[index] for index in sample_rows), train_split.labels[sample_rows])
    return Pictures(
        train=train_split.pixels,
        train_labels=train_split.labels,
        typical=data.read(sample, args.input_size).pixels,
        val=val_split.pixels,
        val_labels=val_split.labels,
        classes=len(dataset.labels),
    )


def _initial_weights(path: Path, network: keras.Model) -> Weights:
    """Return trainable weights for ``network``: those of the saved model with equal name and shape, else new ones.

    Raises:
        InputError: no layer of the saved model fits.
    """
    model = _load(path)
    saved = {variable.path: np.asarray(variable) for variable in model.trainable_variables}
    values: list[NDArray[np.float32]] = []
    transferred = 0
    for variable in network.trainable_variables:
        value = saved.get(variable.path)
        fits = value is not None and value.shape == tuple(variable.shape)
        transferred += fits
        values.append(value if fits else np.asarray(variable))  # type: ignore[arg-type]
    if not transferred:
        raise InputError(f"{path}: no layer has the name and shape of one of this network's")
    print(f"{path}: {transferred} of {len(values)} weights taken over", flush=True)
    if _activations(model) != _activations(network):
        command.warn(f"{path}: its weights were learnt with another --activation")
    return values


def _activations(model: keras.Model) -> set[tuple[str, str]]:
    """Return descriptions of X22's activations, which are equal for equal functions."""
    layers = [layer for layer in model.layers if layer.name.endswith("-act")]
    return {(type(layer).__name__, str({**layer.get_config(), "name": ""})) for layer in layers}


def _refuse_options_of_x22(args: argparse.Namespace, recipe: Recipe) -> None:
    """Refuse options for other architectures than X22."""
    parser = _parser()
    for name in ("width", "stages", "activation"):
        if vars(args)[name] != parser.get_default(name):
            raise InputError(f"--{name} is for x22; {args.model} has none")
    if recipe.consistency.weight or any(phase.quantized for phase in recipe.phases):
        raise InputError(f"{args.model} does not run in shaders: take a recipe without quantized phases, consistency")


def _teacher(path: Path, classes: int) -> keras.Model:
    teacher = _load(path)
    shape = teacher.input_shape
    if not isinstance(shape, tuple) or len(shape) != 4 or shape[1] != shape[2] or shape[3] != 3:
        raise InputError(f"{path}: a teacher reads {shape}; it must read square images, (None, size, size, 3)")
    if teacher.output_shape[-1] != classes:
        raise InputError(f"{path}: a teacher of {teacher.output_shape[-1]} classes; the data has {classes}")
    return teacher


def _load(path: Path) -> keras.Model:
    try:
        return keras.saving.load_model(path, compile=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path}: cannot be read as a Keras model ({str(error).splitlines()[0]})") from None


def _use_all_devices(batch: int) -> None:
    """Distribute each batch over all accelerators.

    Raises:
        InputError: the batch is not a multiple of the number of devices.
    """
    devices = keras.distribution.list_devices()
    if batch % len(devices):
        raise InputError(f"--data-parallel: a batch of {batch} does not split evenly among {len(devices)} devices")
    if len(devices) > 1:
        parallel = keras.distribution.DataParallel(devices=devices, auto_shard_dataset=False)
        keras.distribution.set_distribution(parallel)


def _recipe(args: argparse.Namespace) -> Recipe:
    recipe = Recipe.read(args.recipe) if args.recipe else Recipe()
    return recipe.changed(epochs=args.epochs, batch=args.batch, seed=args.seed)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="train.py", description="Train a network to classify the images of a folder.")
    parser.examples = (
        "python training/train.py --data data/trashnet --stages 4 --input-size 129 --epochs 30 --out runs/trash",
        "python training/train.py --data data/grocery --recipe recipes/grocery.yaml --out runs/g385",
        "python training/train.py --data data/grocery --recipe recipes/grocery.yaml --out runs/g385 --resume",
    )
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        action="append",
        metavar="DIR",
        help="The images: train/CLASS/*.jpg and val/CLASS/*.jpg, or CLASS/*.jpg, which is split. Repeat it to train on "
        "several data sets together.",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="The folder to write.")
    parser.add_argument("--resume", action="store_true", help="Continue the interrupted run in the folder --out.")
    network = parser.add_argument_group("Network")
    network.add_argument("--model", choices=["x22", *TEACHERS], default="x22", help="The architecture (default: x22).")
    network.add_argument(
        "--input-size",
        type=int,
        default=385,
        metavar="PIXELS",
        help="Width and height of the network's input (default: 385).",
    )
    network.add_argument(
        "--stages",
        type=int,
        default=5,
        metavar="N",
        help="The number of stages of x22, 1 to 5. Each halves width and height (default: 5).",
    )
    network.add_argument(
        "--width", type=float, default=1.0, metavar="FACTOR", help="The factor of all channel counts (default: 1)."
    )
    network.add_argument(
        "--activation",
        choices=list(ACTIVATIONS),
        default="clipped_relu",
        help="The function after every layer of x22 but the last (default: clipped_relu).",
    )
    network.add_argument(
        "--init",
        type=Path,
        metavar="MODEL.keras",
        help="Start from the weights of this model, in all layers with the same name and shape.",
    )
    training = parser.add_argument_group("Training")
    training.add_argument(
        "--recipe",
        type=Path,
        metavar="FILE.yaml",
        help="The settings of the training. recipes/defaults.yaml describes them (default: 30 epochs with little "
        "augmentation).",
    )
    training.add_argument(
        "--epochs",
        type=command.positive,
        metavar="N",
        help="The number of passes over all images. The phases of the recipe keep their proportions (default: the "
        "recipe's).",
    )
    training.add_argument(
        "--batch", type=command.positive, metavar="N", help="The number of images in a step (default: the recipe's)."
    )
    training.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="The seed of the weights, the order of the images and the augmentation (default: the recipe's).",
    )
    training.add_argument(
        "--teacher",
        type=Path,
        metavar="MODEL.keras",
        help="Learn from the outputs of this larger network as well (distillation).",
    )
    training.add_argument(
        "--preview",
        type=Path,
        metavar="FILE.png",
        help="Write a sheet of images as the network gets them, after augmentation, as well.",
    )
    training.add_argument("--strict", action="store_true", help=command.STRICT)
    training.add_argument("--data-parallel", action="store_true", help="Share each batch between several GPUs (JAX).")
    add_debug(parser)
    parser.set_defaults(run=train)
    return parser


if __name__ == "__main__":
    sys.exit(main())
