#!/usr/bin/env python3
"""Compare networks of keras.applications with what is exported from them, and write docs/keras-applications.json.

scripts/keras_applications.py --pictures DIR|FILE.npz [--size N] [--jobs N] [--out FILE] [NAME ...]

Weights are random: drawn so that no layer loses its signal, with batch norm statistics of the pictures. Each network
has a process of its own. ``floats``: the imported graph computed in 32-bit floats, its largest difference from Keras
in parts of Keras' largest number. ``auto`` and ``sixteen``: the cosine of the bundle's exact reference with Keras'
logits, the lowest of the test pictures, with that ``--precision``; test pictures are among those that ranges are
chosen from. ``KERAS_BACKEND`` may be ``jax``. FILE.npz holds ``pictures``, uint8 (n, size, size, 3).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
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

PAGE = ROOT / "docs/keras-applications.json"
SIZE, SHOWN, TESTED, CLASSES = 96, 12, 3, 100
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
)


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


def network(name: str, size: int, shown: NDArray[np.uint8]) -> tuple[Any, tuple[float, float]]:
    """Return a network with weights under which a signal lives, and the values that its picture has."""
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
    if any(isinstance(layer, keras.layers.BatchNormalization) for layer in model.layers):
        randomise_norms(model, values(shown, span), 5, varied=False)
    return model, span


def values(shown: NDArray[np.uint8], span: tuple[float, float]) -> NDArray[np.float32]:
    """Return what a network reads of pictures."""
    return (span[0] + shown.astype(np.float32) * np.float32((span[1] - span[0]) / 255.0)).astype(np.float32)


def cosine(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Return the cosine of two vectors."""
    one, other = one.astype(np.float64).reshape(-1), other.astype(np.float64).reshape(-1)
    return float(one @ other / np.sqrt((one @ one) * (other @ other)))


def judged(name: str, folder: Path, size: int) -> dict[str, Any]:
    """Return the row of a network."""
    from glsl_infer.compiler.build import Options
    from glsl_infer.compiler.delegate import build
    from glsl_infer.graph import reference
    from glsl_infer.importers.keras import to_graph

    shown = pictures(folder, size, SHOWN)
    tested = shown[:TESTED]
    model, span = network(name, size, shown)
    expected = np.asarray(model(values(tested, span), training=False))
    graph = to_graph(model, input_range=span)
    (given,), (made,) = graph.inputs, graph.outputs
    floats = [reference.run(graph, {given.name: picture}, mode="float")[made.name] for picture in tested]
    off = max(float(np.abs(one - right).max() / np.abs(right).max()) for one, right in zip(floats, expected))
    spread = float(min(np.std(row) / np.abs(row).max() for row in expected))
    found: dict[str, Any] = {"parameters": model.count_params(), "size": size, "floats": off, "spread": spread}
    samples = [{given.name: picture} for picture in shown]
    labels = [str(place) for place in range(CLASSES)]
    for key, precision in (("auto", "auto"), ("sixteen", "16")):
        built = build(graph, labels, options=Options(precision=precision), calibration=samples)
        exact = [reference.run(built.bundle, {given.name: picture})[made.name] for picture in tested]
        found[key] = min(cosine(one, right) for one, right in zip(exact, expected))
        found["parts"] = len(built.parts) or 1
    return found


def main() -> int:
    """Judge all networks, or those named; return 1 where one differs from Keras."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NETWORKS)}")
    parser.add_argument("--pictures", type=Path, required=True, metavar="DIR", help="a folder of photographs")
    parser.add_argument("--size", type=int, default=SIZE, help=f"rows and columns of a picture (default {SIZE})")
    parser.add_argument("--jobs", type=int, default=1, help="networks at a time (default 1)")
    parser.add_argument("--out", type=Path, default=PAGE, metavar="FILE", help="what is written (default %(default)s)")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        print(json.dumps(judged(given.names[0], given.pictures, given.size)))
        return 0
    rows: dict[str, Any] = json.loads(given.out.read_text("utf-8")) if given.out.is_file() else {}

    def row_of(name: str) -> None:
        started = time.monotonic()
        command = [
            sys.executable,
            __file__,
            name,
            "--alone",
            "--pictures",
            str(given.pictures),
            "--size",
            str(given.size),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        rows[name] = (
            json.loads(done.stdout.splitlines()[-1]) if not done.returncode else {"crashed": done.stderr[-600:]}
        )
        print(f"{time.monotonic() - started:6.1f} s  {name}: {rows[name]}", flush=True)
        given.out.write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n", "utf-8")

    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(row_of, given.names or NETWORKS))
    return int(any("crashed" in row or row["floats"] > WORST for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
