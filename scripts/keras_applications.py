#!/usr/bin/env python3
"""Compare networks of keras.applications with what is exported from them, and write keras-applications.json.

scripts/keras_applications.py --pictures DIR|FILE.npz [--size N] [--jobs N] [--seconds N] [--first] [--draw-seconds N]

Weights are random, with batch norm statistics of the pictures, in two kinds. ``open``: offsets of norms lie around
1, so that a ReLU lets most of a signal through, and it lives. ``closed``: around 0; every ReLU cuts off half, and a
network with many of them makes much of little: ``noise`` says how much.

All numbers are the lowest of the test pictures, which are not among those that ranges are chosen from:

* ``floats``: the imported graph computed in floats: its largest difference from Keras in parts of Keras' largest number
* ``noise``: the cosine of Keras' logits with Keras' own for the picture with noise of half a step of its bytes
* ``exact``, ``drawn``: the cosine with Keras' logits, of the bundle's exact reference and of what a GPU draws
* ``drawn_exact``: the cosine of what a GPU draws with the exact reference
* ``..._centred``: the same of what sets a picture apart: logits less their mean over all pictures

``exact`` and its like stand under ``auto`` and ``16``, the ``--precision``. ``--first`` measures ``open`` with ``auto``
alone; ``--draw-seconds`` leaves out what a slow driver has not drawn by then. Each network has processes of its own;
each number is written once known. ``KERAS_BACKEND`` may be ``jax``. FILE.npz: uint8 ``pictures`` (n, N, N, 3).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tests"))

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

PAGE = ROOT / "docs/reference/keras-applications.json"
SIZE, SHOWN, TESTED, CLASSES = 96, 12, 4, 100
"""Rows and columns of a picture; pictures for ranges, and others for tests; classes."""

KINDS = {"open": 1.0, "closed": 0.0}
"""Mean of the batch norms' offsets."""

WORST = 1e-4
NETWORKS = (
    "MobileNet",
    "MobileNetV2",
    "MobileNetV3Small",
    "MobileNetV3Large",
    "EfficientNetB0",
    "EfficientNetV2B0",
    "NASNetMobile",
    "DenseNet121",
    "ConvNeXtTiny",
    "Xception",
    "InceptionV3",
    "ResNet50",
    "ResNet50V2",
    "VGG16",
    "InceptionResNetV2",
    "EfficientNetB1",
    "EfficientNetB2",
    "EfficientNetB3",
    "EfficientNetV2B1",
    "EfficientNetV2B2",
    "EfficientNetV2B3",
    "EfficientNetV2S",
    "DenseNet169",
    "DenseNet201",
    "ResNet101",
    "ResNet101V2",
    "ConvNeXtSmall",
    "VGG19",
)
"""From the most important on."""


def pictures(folder: Path, size: int, count: int) -> NDArray[np.uint8]:
    """Return photographs of a folder, chosen by a fixed seed, as uint8 (count, size, size, 3)."""
    from PIL import Image

    if folder.suffix == ".npz":
        with np.load(folder) as saved:
            given: NDArray[np.uint8] = saved["pictures"]
        if given.shape[1:] != (size, size, 3) or len(given) < count:
            raise SystemExit(f"{folder} has pictures of shape {given.shape}; give {count} of {size}x{size}")
        return given[:count]
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg", ".png"))
    if len(paths) < count:
        raise SystemExit(f"{folder} has {len(paths)} pictures; give a folder with {count} or more")
    chosen = np.random.default_rng(7).choice(len(paths), count, replace=False)
    return np.stack([np.asarray(Image.open(paths[at]).convert("RGB").resize((size, size))) for at in chosen])


def network(name: str, size: int, shown: NDArray[np.uint8], offset: float) -> tuple[Any, tuple[float, float]]:
    """Return a network with random weights, and the values that its picture has.

    Args:
        name: of keras.applications.
        size: rows and columns of its picture.
        shown: what the statistics of batch norms are of.
        offset: mean of the batch norms' offsets.
    """
    import keras
    from accuracy_keras import randomise_norms
    from small_models import with_weights

    keras.utils.set_random_seed(5)
    options = {"weights": None, "input_shape": (size, size, 3), "classes": CLASSES, "classifier_activation": None}
    if name.startswith(("MobileNetV3", "EfficientNet", "ConvNeXt")):
        options["include_preprocessing"] = True
        if name.startswith("EfficientNetB"):
            del options["include_preprocessing"]
        span = (0.0, 255.0)
    else:
        span = (-1.0, 1.0)
    model = with_weights(getattr(keras.applications, name)(**options), 5)
    norms = [layer for layer in model.layers if isinstance(layer, keras.layers.BatchNormalization)]
    for layer in norms:
        if layer.center:
            layer.beta.assign_add(np.full(layer.beta.shape, offset, np.float32))
    if norms:
        randomise_norms(model, values(shown, span), 5, varied=False)
    return model, span


def values(shown: NDArray[np.uint8], span: tuple[float, float]) -> NDArray[np.float32]:
    """Return what a network reads of pictures."""
    return (span[0] + shown.astype(np.float32) * np.float32((span[1] - span[0]) / 255.0)).astype(np.float32)


def cosine(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Return the cosine of two vectors."""
    one, other = one.astype(np.float64).reshape(-1), other.astype(np.float64).reshape(-1)
    return float(one @ other / np.sqrt((one @ one) * (other @ other)))


class Judged:
    """The row of a network, written to a file whenever something more is known."""

    def __init__(self, name: str, pictures_: NDArray[np.uint8], into: Path, draw_seconds: float) -> None:
        self.name, self.into, self.draw_seconds = name, into, draw_seconds
        self.shown, self.tested = pictures_[:SHOWN], pictures_[SHOWN:]
        self.row: dict[str, Any] = {"size": int(pictures_.shape[1])}

    def kind(self, kind: str, precisions: tuple[str, ...]) -> None:
        """Judge a network with weights of one kind."""
        from glsl_infer.errors import GlslInferError
        from glsl_infer.graph import reference
        from glsl_infer.importers.keras import to_graph

        model, span = network(self.name, self.row["size"], self.shown, KINDS[kind])
        self.row["parameters"] = model.count_params()
        found = self.row[kind] = {}
        fed = values(self.tested, span)
        expected = np.asarray(model(fed, training=False))
        half = np.random.default_rng(1).uniform(-0.5, 0.5, fed.shape) * ((span[1] - span[0]) / 255.0)
        noisy = np.asarray(model((fed + half).astype(np.float32), training=False))
        mean = np.asarray(model(values(self.shown, span), training=False)).mean(axis=0)
        graph = to_graph(model, input_range=span)
        del model
        (given,), (made,) = graph.inputs, graph.outputs
        floats = np.stack([reference.run(graph, {given.name: one}, mode="float")[made.name] for one in self.tested])
        found["floats"] = float(max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(floats, expected)))
        found.update(alike("noise", noisy, expected, mean))
        self.write()
        for precision in precisions:
            into = found.setdefault(precision, {})
            try:
                self.bundle(graph, precision, expected, mean, into)
            except GlslInferError as error:
                into["refused"] = str(error)[:400]
            self.write()

    def bundle(
        self, graph: Any, precision: str, expected: NDArray[Any], mean: NDArray[Any], found: dict[str, Any]
    ) -> None:
        """Judge what a graph becomes."""
        from glsl_infer import bundle as bundles
        from glsl_infer.compiler.build import Options
        from glsl_infer.compiler.delegate import build
        from glsl_infer.graph import reference

        (given,), (made,) = graph.inputs, graph.outputs
        started = time.monotonic()
        labels = [str(place) for place in range(CLASSES)]
        samples = [{given.name: picture} for picture in self.shown]
        built = build(graph, labels, options=Options(precision=precision), calibration=samples)
        found.update(parts=len(built.parts) or 1, export_seconds=round(time.monotonic() - started, 1))
        exact = np.stack([reference.run(built.bundle, {given.name: one})[made.name] for one in self.tested])
        found.update(alike("exact", exact, expected, mean))
        self.write()
        with tempfile.TemporaryDirectory() as folder:
            path, pictures_, out = (Path(folder) / name for name in ("a.glslnn", "pictures.npy", "drawn.npy"))
            bundles.write(built.bundle, path)
            np.save(pictures_, self.tested)
            command = [sys.executable, __file__, "--draw", str(path), "--pictures", str(pictures_), "--out", str(out)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=self.draw_seconds)
            except subprocess.TimeoutExpired:
                return
            if done.returncode:
                found["draws"] = done.stderr[-400:]
            else:
                drawn = np.load(out)
                found["driver"] = done.stdout.strip()
                found.update(alike("drawn", drawn, expected, mean), **alike("drawn_exact", drawn, exact, mean))

    def write(self) -> None:
        """Write what is known."""
        self.into.write_text(json.dumps(self.row), "utf-8")


def alike(key: str, some: NDArray[Any], others: NDArray[Any], mean: NDArray[Any]) -> dict[str, float]:
    """Return how alike two sets of logits are, (pictures, classes): as they are, and less the mean of many pictures."""
    return {
        key: round(min(cosine(a, b) for a, b in zip(some, others)), 6),
        f"{key}_centred": round(min(cosine(a - mean, b - mean) for a, b in zip(some, others)), 6),
    }


def draw(bundle: Path, pictures_: Path, out: Path) -> None:
    """Draw a bundle's logits for pictures, on whatever driver there is."""
    from glsl_infer.gl import constants
    from glsl_infer.runtime.session import Session

    with Session(bundle) as session:
        np.save(out, np.stack([np.asarray(session.run(picture)).reshape(-1) for picture in np.load(pictures_)]))
        print(session.context.gl.text(constants.GL_RENDERER))


def main() -> int:
    """Judge all networks, or those named; return 1 where one differs from Keras."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NETWORKS)}")
    parser.add_argument("--pictures", type=Path, required=True, metavar="DIR", help="a folder of photographs")
    parser.add_argument("--size", type=int, default=SIZE, help=f"rows and columns of a picture (default {SIZE})")
    parser.add_argument("--jobs", type=int, default=1, help="networks at a time (default 1)")
    parser.add_argument("--seconds", type=float, default=1e6, help="when to stop, with what is known by then")
    parser.add_argument("--out", type=Path, default=PAGE, metavar="FILE", help="what is written (default %(default)s)")
    parser.add_argument("--first", action="store_true", help="weights of kind open, --precision auto, and no others")
    parser.add_argument("--draw-seconds", type=float, default=1e6, help="the longest that a bundle may be drawn")
    parser.add_argument("--alone", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--draw", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.draw:
        draw(given.draw, given.pictures, given.out)
        return 0
    if given.alone:
        pictures_ = pictures(given.pictures, given.size, SHOWN + TESTED)
        judged = Judged(given.names[0], pictures_, given.alone, given.draw_seconds)
        judged.kind("open", ("auto",) if given.first else ("auto", "16"))
        if not given.first:
            judged.kind("closed", ("auto",))
        return 0
    ends = time.monotonic() + given.seconds
    rows: dict[str, Any] = json.loads(given.out.read_text("utf-8")) if given.out.is_file() else {}

    def row_of(name: str, folder: Path) -> None:
        left = ends - time.monotonic()
        if left <= 1.0:
            return
        started, into = time.monotonic(), folder / f"{name}.json"
        options = ["--alone", str(into), "--pictures", str(given.pictures), "--size", str(given.size)]
        options += ["--draw-seconds", str(given.draw_seconds), *(["--first"] if given.first else [])]
        why = ""
        try:
            done = subprocess.run(
                [sys.executable, __file__, name, *options], capture_output=True, text=True, check=False, timeout=left
            )
            why = done.stderr[-600:] if done.returncode else ""
        except subprocess.TimeoutExpired:
            why = "no time was left"
        row = json.loads(into.read_text("utf-8")) if into.is_file() else {}
        rows[name] = {**row, "ended": why} if why else row
        print(f"{time.monotonic() - started:6.1f} s  {name}: {rows[name]}", flush=True)
        given.out.write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n", "utf-8")

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(lambda name: row_of(name, Path(folder)), given.names or NETWORKS))
    floats = [row[kind]["floats"] for row in rows.values() for kind in KINDS if "floats" in row.get(kind, {})]
    return int(any("ended" in row for row in rows.values()) or max(floats, default=0.0) > WORST)


if __name__ == "__main__":
    sys.exit(main())
