#!/usr/bin/env python3
"""Teach any Keras network the rounding of its export: to answer in shaders what it answers in floats.

    python training/learn_rounding.py model.keras --data pictures/ --out rounded.keras

The network learns from its own float answers, so that pictures need no labels; a fifth of them is held out to judge. It
is rounded wherever ``glsl-infer export`` stores it, in the ranges that export chooses (``training.rounded``). The
weights of the best epoch are kept, those from before if none is better. Export the result as any model, with the same
pictures for --images.
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
from training.rounded import rounded

TYPICAL = 64
"""Pictures that ranges come from."""

Floats = NDArray[np.float32]


def main(argv: list[str] | None = None) -> int:
    """Parse the arguments, train, and return the exit code."""
    parser = Parser(prog="learn_rounding.py", description="Teach any Keras network the rounding of its export.")
    parser.add_argument("model", type=Path, metavar="MODEL.keras", help="a saved Keras model whose input is a picture")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="a folder of pictures; labels: none")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.keras", help="the network, taught")
    parser.add_argument("--epochs", type=command.positive, default=4, metavar="N", help="default: 4")
    parser.add_argument("--rate", type=command.rate, default=1e-4, help="of learning (default: 0.0001)")
    parser.add_argument("--batch", type=command.positive, default=16, metavar="N", help="default: 16")
    parser.add_argument("--limit", type=command.positive, default=1000, metavar="N", help="pictures (default: 1000)")
    parser.add_argument("--precision", choices=("auto", "8"), default="auto", help="as for glsl-infer export")
    parser.add_argument(
        "--input-range", type=float, nargs=2, metavar=("LOW", "HIGH"), help="what bytes 0 and 255 stand for"
    )
    add_debug(parser)
    parser.set_defaults(run=run)
    return execute(parser, argv)


def run(args: argparse.Namespace) -> int:
    """Train, say what it gave, and write the network."""
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
        input_range=args.input_range and (args.input_range[0], args.input_range[1]),
        precision=args.precision,
    )
    if left_out:
        command.warn("stored, and not rounded here, for no layer's output is the same:", left_out)
    print(f"{len(pictures)} pictures, rounded behind {len(rounds)} layers; outputs off by {before:.2%} of their spread")
    print(
        f"after training: {after:.2%}" if after < before else "no epoch was better: the weights are those from before"
    )
    model.save(args.out)
    print(f"wrote {args.out}")
    return 0


def read(model: keras.Model, args: argparse.Namespace) -> list[NDArray[np.uint8]]:
    """Return pictures as the network reads them.

    Raises:
        InputError: there are too few, or the network reads something else.
    """
    graph = reader.to_graph(model, args.input_range and tuple(args.input_range))
    if len(graph.inputs) != 1 or not is_picture(graph.inputs[0]):
        raise InputError(f"{args.model}: this is for networks whose only input is a picture")
    paths = files.find([args.data])
    count = min(args.limit, len(paths))
    found = calibration.samples(graph, [paths[index * len(paths) // count] for index in range(count)])
    if len(found) < 5:
        raise InputError(f"{args.data}: {len(found)} pictures; give at least 5, better some hundred")
    return [np.asarray(one) for one in found]


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
        pictures: as it reads them; every fifth is held out.
        epochs: how often all others are shown.
        rate: of learning.
        batch: pictures in each step.
        input_range: what bytes 0 and 255 stand for.
        precision: ``auto`` or ``8``.

    Returns:
        How far rounding takes the outputs away on the pictures held out, before and now, as a share of their spread;
        the layers behind which was rounded, and the stored ones that were left out.
    """
    node = reader.to_graph(model, input_range).inputs[0]
    values = np.stack([picture_values(node, one) for one in pictures]).astype(np.float32)
    whole = keras.Model(model.input, model.output)
    answers = [np.asarray(one, np.float32) for one in _flat(whole.predict(values, batch_size=batch, verbose=0))]
    out = np.arange(len(values)) % 5 == 4
    typical = [pictures[index] for index in np.flatnonzero(~out)]
    step = max(1, len(typical) // TYPICAL)
    copy = rounded(model, typical[::step][:TYPICAL], input_range=input_range, precision=precision)
    spreads = [max(float(one[~out].var()), 1e-12) for one in answers]

    def error(given: keras.Model) -> float:
        made = [np.asarray(one) for one in _flat(given.predict(values[out], batch_size=batch, verbose=0))]
        shares = [float(((a - b[out]) ** 2).mean()) / spread for a, b, spread in zip(made, answers, spreads)]
        return float(np.sqrt(np.mean(shares)))

    before = least = error(copy.network)
    best = model.get_weights()
    losses = [_share(spread) for spread in spreads]
    copy.network.compile(optimizer=keras.optimizers.Adam(rate), loss=losses if len(losses) > 1 else losses[0])
    wanted = [one[~out] for one in answers]
    for _ in range(epochs):
        copy.network.fit(
            values[~out], wanted if len(wanted) > 1 else wanted[0], batch_size=batch, verbose=command.verbosity()
        )
        now = error(copy.network)
        if now < least:
            least, best = now, model.get_weights()
    model.set_weights(best)
    for layer in copy.network.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.trainable = True
    return before, least, copy.rounds, copy.left_out


def _share(spread: float) -> Any:
    return lambda wanted, given: ops.mean(ops.square(given - wanted)) / spread


def _flat(outputs: Any) -> list[Any]:
    return list(keras.tree.flatten(outputs))


if __name__ == "__main__":
    sys.exit(main())
