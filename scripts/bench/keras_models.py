#!/usr/bin/env python3
"""Keras' part of side_by_side.py: write the model as a .keras file and as a .tflite file.

    keras_models.py FOLDER [--keras FILE] [--network x22] [--size 385]

Writes FOLDER/model.keras (a copy of FILE, or a network with random weights and 120 classes) and FOLDER/model.tflite
(float32, with the converter's defaults). Runs in its own process: TensorFlow and Mesa's LLVM cannot share one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
SCRIPTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(SCRIPTS.parent), str(SCRIPTS)]

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from accuracy_keras import random_mobilenet, random_x22  # noqa: E402

import training.layers  # noqa: E402, F401  (registers the layers that a model may have)
from glsl_infer.bundle import probe  # noqa: E402

NETWORKS = {
    "x22": random_x22,
    "mobilenet": lambda size: random_mobilenet(np.asarray(probe.picture(size))[None], varied=False),
}


def main() -> int:
    """Write both files; return the exit code."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keras", dest="model", type=Path)
    parser.add_argument("--network", choices=NETWORKS, default="x22")
    parser.add_argument("--size", type=int, default=385)
    args = parser.parse_args()
    saved = args.folder / "model.keras"
    if args.model is None:
        NETWORKS[args.network](args.size).save(saved)
    else:
        shutil.copyfile(args.model, saved)
    model = keras.saving.load_model(saved, compile=False)
    # For a concrete function of Keras 3, the converter omits all weights; LiteRT then gets NaN, 20 times as slowly.
    (args.folder / "model.tflite").write_bytes(tf.lite.TFLiteConverter.from_keras_model(model).convert())
    return 0


if __name__ == "__main__":
    sys.exit(main())
