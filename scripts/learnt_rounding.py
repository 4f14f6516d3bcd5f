#!/usr/bin/env python3
"""Measure the benefit of training/learn_rounding.py for MobileNetV2 0.35: 8-bit labels before and after.

    python scripts/learnt_rounding.py --data data/grocery --write

Trains the network from scratch on photographs of 96 x 96, exports it, trains it to tolerate rounding, and exports it
again. --write stores the rows in learnt_rounding.json, which scripts/precision.py inserts into its page. Labels of the
exact reference of the exported file are compared with the float network's. The test images are used for nothing else.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from training.backend import keras

# isort: split

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options, build
from glsl_infer.errors import GlslInferError
from glsl_infer.graph import reference
from glsl_infer.importers.keras import reader
from training.learn_rounding import TYPICAL, teach

ROOT = Path(__file__).resolve().parents[1]
SIDE, RANGE = 96, (-1.0, 1.0)
STORED = ROOT / "docs/engineering/accuracy/learnt_rounding.json"

Pictures = NDArray[np.uint8]


def photographs(folder: Path, *, each: int = 1) -> tuple[Pictures, NDArray[np.int64], list[str]]:
    """Return every ``each``-th image below a folder of classes, the class indices, and the class names."""
    classes = sorted(path.name for path in folder.iterdir() if path.is_dir())
    found = sorted(folder.glob("*/*.jpg"))[::each]
    pictures = [
        np.asarray(Image.open(path).convert("RGB").resize((SIDE, SIDE), Image.Resampling.BOX)) for path in found
    ]
    return np.stack(pictures), np.array([classes.index(path.parent.name) for path in found]), classes


def trained(pictures: Pictures, labels: NDArray[np.int64], classes: int, epochs: int) -> keras.Model:
    """Return the network, trained from scratch."""
    keras.utils.set_random_seed(0)
    shape = (SIDE, SIDE, 3)
    network = keras.applications.MobileNetV2(
        shape, 0.35, weights=None, classes=classes, classifier_activation=None, include_top=True
    )
    for layer in network.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = 0.9  # 0.999 would need more steps than this training has
    image = keras.Input(shape)
    moved = keras.layers.RandomTranslation(0.1, 0.1)(keras.layers.RandomFlip("horizontal")(image))
    whole = keras.Model(image, network(moved))
    steps = epochs * -(-len(pictures) // 32)
    whole.compile(
        keras.optimizers.AdamW(keras.optimizers.schedules.CosineDecay(2e-3, steps), 1e-4),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    whole.fit(values(pictures), labels, batch_size=32, epochs=epochs, verbose=2)
    return network


def values(pictures: Pictures) -> NDArray[np.float32]:
    """Return images scaled to [-1, 1], the input range of the network."""
    return (pictures / np.float32(127.5) - np.float32(1.0)).astype(np.float32)


def exported(model: keras.Model, bits: str, typical: Sequence[Pictures], test: Sequence[Pictures]) -> NDArray[Any]:
    """Return the logits of the exported file for the test images, computed with its stored values."""
    graph = reader.to_graph(model, RANGE)
    name = graph.input.name
    labels = [f"class {number}" for number in range(model.output_shape[-1])]
    built, _, _ = build(graph, labels, options=Options(precision=bits), calibration=[{name: one} for one in typical])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.glslnn"
        bundles.write(built, path)
        stored = bundles.read(path).graph
    return np.stack([next(iter(reference.run(stored, {name: one}, mode="stored").values())) for one in test])


def row(state: str, given: NDArray[Any], floats: NDArray[Any], labels: NDArray[np.int64]) -> dict[str, Any]:
    """Return the scores of logits, compared with those of the float network that was trained first."""
    first = given.argmax(axis=1)
    off = float(np.sqrt(((given - floats) ** 2).mean() / floats.var()))
    same, right = float((first == floats.argmax(axis=1)).mean()), float((first == labels).mean())
    found = {"network": state, "pictures": len(labels), "right": right, "same": same, "off": off}
    print(json.dumps(found), flush=True)
    return found


def main() -> int:
    """Train, measure, learn the rounding, measure again, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT / "data/grocery")
    parser.add_argument("--epochs", type=int, default=20, help="of the training from nothing")
    parser.add_argument("--rounded-epochs", type=int, default=4, help="of learning the rounding")
    parser.add_argument("--each", type=int, default=4, help="every so manieth test picture")
    parser.add_argument("--keep", type=Path, metavar="FILE.keras", help="where the trained network is, or is put")
    parser.add_argument("--write", action="store_true", help="keep the rows")
    args = parser.parse_args()
    try:
        pictures, labels, classes = photographs(args.data / "train")
        test, wanted, _ = photographs(args.data / "test", each=args.each)
        if args.keep is not None and args.keep.exists():
            model = reader.load_model(args.keep)
        else:
            model = trained(pictures, labels, len(classes), args.epochs)
            if args.keep is not None:
                model.save(args.keep)
        typical = pictures[:: -(-len(pictures) // TYPICAL)]
        floats = model.predict(values(test), verbose=0)
        rows = [row("in floats", floats, floats, wanted)]
        rows += [
            row(
                f"{bits} bits" * (bits == "8") + "auto" * (bits != "8"),
                exported(model, bits, typical, test),
                floats,
                wanted,
            )
            for bits in ("8", "auto")
        ]
        teach(model, list(pictures), epochs=args.rounded_epochs, rate=1e-4, batch=16, input_range=RANGE, precision="8")
        rows.append(row("taught, in floats", model.predict(values(test), verbose=0), floats, wanted))
        rows.append(row("taught, 8", exported(model, "8", typical, test), floats, wanted))
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if args.write:
        STORED.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
