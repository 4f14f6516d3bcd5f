#!/usr/bin/env python3
"""Fine-tune any Keras network for the rounding of its export, to keep its float outputs in shaders.

    python training/learn_rounding.py model.keras --data pictures/ --out rounded.keras

The network learns from its own float outputs, so the images need no labels. A fifth of them is held out for evaluation.
The network is rounded wherever ``glsl-infer export`` stores it, with the ranges chosen by the export
(``training.rounded``). The weights of the best epoch are kept, or the original weights if all epochs are worse. Export
the result like any model, with the same images for --images.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from training.backend import keras

# isort: split

import numpy as np
from keras import ops
from numpy.typing import NDArray

from glsl_infer.cli.execution import Parser, add_debug, execute
from glsl_infer.errors import InputError
from glsl_infer.graph.picture import is_picture, picture_values
from glsl_infer.importers.keras import reader
from glsl_infer.runtime.pictures import paths as files
from glsl_infer.support.files import output_file
from glsl_infer.tools import calibration
from training import command
from training.rounded import functional, rounded

CALIBRATION_IMAGES = 64
"""Number of calibration images."""

Floats = NDArray[np.float32]


def main(argv: list[str] | None = None) -> int:
    """Parse the arguments, train, and return the exit code."""
    parser = Parser(
        prog="learn_rounding.py", description="Teach a Keras network to tolerate the rounding of its export."
    )
    parser.examples = (
        "python training/learn_rounding.py mine.keras --data photos/ --out taught.keras",
        "python training/learn_rounding.py mine.keras --data photos/ --out taught.keras --input-range=-1,1",
        "python training/learn_rounding.py mine.keras --data photos/ --out taught.keras --epochs 8 --rate 0.0003",
    )
    parser.add_argument("model", type=Path, metavar="MODEL.keras", help="The Keras model. Its input is an image.")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="A folder of images, without labels.")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.keras", help="The file to write.")
    parser.add_argument(
        "--epochs",
        type=command.positive,
        default=4,
        metavar="N",
        help="The number of passes over the images (default: 4).",
    )
    parser.add_argument(
        "--rate", type=command.rate, default=1e-4, metavar="RATE", help="The learning rate (default: 0.0001)."
    )
    parser.add_argument(
        "--batch", type=command.positive, default=16, metavar="N", help="The number of images in a step (default: 16)."
    )
    parser.add_argument(
        "--limit",
        type=command.positive,
        default=1000,
        metavar="N",
        help="The largest number of images, taken evenly from the folder (default: 1000).",
    )
    parser.add_argument(
        "--precision",
        choices=("auto", "8"),
        default="auto",
        help="The --precision of the later glsl-infer export (default: auto).",
    )
    parser.add_argument(
        "--input-range",
        type=command.value_range,
        metavar="LOW,HIGH",
        help="The network's values for bytes 0 and 255 of an image (default: 0,1, or 0,255 if the network begins with "
        "a Rescaling).",
    )
    add_debug(parser)
    parser.set_defaults(run=run)
    return execute(parser, argv)


def run(args: argparse.Namespace) -> int:
    """Train, print the result, and write the network."""
    output_file(args.out)
    if args.out.suffix != ".keras":
        raise InputError(f"--out {args.out}; name the file *.keras")
    model = reader.load_model(args.model)
    pictures = read(model, args)
    before, after, rounds, left_out = teach(
        model,
        pictures,
        epochs=args.epochs,
        rate=args.rate,
        batch=args.batch,
        input_range=args.input_range,
        precision=args.precision,
    )
    if left_out:
        command.warn("stored, and not rounded here, for no layer's output is the same:", left_out)
    held_out = len(pictures) // 5
    print(
        f"rounding after {len(rounds)} layers changes the outputs of {held_out} images by {before:.2%} of their spread"
    )
    print(
        f"after training: {after:.2%}"
        if after < before
        else "the training did not reduce this; the weights are unchanged"
    )
    model.save(args.out)
    print(f"wrote {args.out}")
    return 0


def read(model: keras.Model, args: argparse.Namespace) -> list[NDArray[np.uint8]]:
    """Return images in the form of the network's input.

    Raises:
        InputError: there are too few images, or the network has another input.
    """
    graph = reader.to_graph(model, args.input_range)
    if len(graph.inputs) != 1 or not is_picture(graph.inputs[0]):
        raise InputError(f"{args.model}: this is for networks whose only input is an image")
    paths = files.find([args.data])
    count = min(args.limit, len(paths))
    images = calibration.samples(graph, [paths[index * len(paths) // count] for index in range(count)])
    if len(images) < 5:
        raise InputError(f"{args.data}: {len(images)} images; give at least 5, better some hundred")
    return [np.asarray(image) for image in images]


def teach(
    model: keras.Model,
    pictures: list[NDArray[np.uint8]],
    *,
    epochs: int,
    rate: float,
    batch: int,
    input_range: tuple[float, float] | None = None,
    precision: str = "auto",
) -> tuple[float, float, tuple[str, ...], tuple[str, ...]]:
    """Train a model in place.

    Args:
        model: the network.
        pictures: images in the form of its input; every fifth is held out.
        epochs: passes over the other images.
        rate: learning rate.
        batch: images in each step.
        input_range: values of bytes 0 and 255.
        precision: ``auto`` or ``8``.

    Returns:
        Root mean square change of the outputs by rounding on the held-out images, before and after training, relative
        to their standard deviation; the layers followed by rounding, and the stored layers that were left out.
    """
    node = reader.to_graph(model, input_range).inputs[0]
    values = np.stack([picture_values(node, array) for array in pictures]).astype(np.float32)
    held_out = np.arange(len(values)) % 5 == 4
    outputs = _predict(functional(model), values, batch)
    spreads = [max(float(array[~held_out].var()), 1e-12) for array in outputs]
    training_images = [pictures[index] for index in np.flatnonzero(~held_out)]
    step = max(1, len(training_images) // CALIBRATION_IMAGES)
    calibration_images = training_images[::step][:CALIBRATION_IMAGES]
    rounded_copy = rounded(model, calibration_images, input_range=input_range, precision=precision)
    network = rounded_copy.network  # shares its weights with the model

    def error() -> float:
        predictions = _predict(network, values[held_out], batch)
        changes = [((prediction - array[held_out]) ** 2).mean() for prediction, array in zip(predictions, outputs)]
        return float(np.sqrt(np.mean([float(change) / spread for change, spread in zip(changes, spreads)])))

    before = least_error = error()
    best = model.get_weights()
    losses = [_relative_error(spread) for spread in spreads]
    targets = [array[~held_out] for array in outputs]
    network.compile(optimizer=keras.optimizers.Adam(rate), loss=_single(losses))
    for _ in range(epochs):
        network.fit(values[~held_out], _single(targets), batch_size=batch, verbose=command.verbosity())
        current_error = error()
        if current_error < least_error:
            least_error, best = current_error, model.get_weights()
    model.set_weights(best)
    for layer in network.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.trainable = True
    return before, least_error, rounded_copy.rounds, rounded_copy.left_out


def _predict(network: keras.Model, values: Floats, batch: int) -> list[Floats]:
    """Return the outputs of a network as a flat list."""
    outputs = keras.tree.flatten(network.predict(values, batch_size=batch, verbose=0))
    return [np.asarray(array, np.float32) for array in outputs]


def _single(items: list[Any]) -> Any:
    """Return the only item, or the list of several, as Keras expects them."""
    return items if len(items) > 1 else items[0]


def _relative_error(spread: float) -> Any:
    return lambda target, output: ops.mean(ops.square(output - target)) / spread


if __name__ == "__main__":
    sys.exit(main())
