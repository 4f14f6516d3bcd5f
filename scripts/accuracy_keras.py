#!/usr/bin/env python3
"""Keras' side of scripts/accuracy.py: float results and exported models, written to a folder.

A process of its own, because TensorFlow and Mesa's LLVM cannot share one (glsl_infer/llvm_clash.py).
Writes x22-{baked,uniform,auto}.glslnn (random weights, 385x385) and results.npz (logits, pictures, labels).
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import numpy as np

from glsl_infer import bundle as bundles
from glsl_infer import probe
from glsl_infer.errors import GlslInferError
from glsl_infer.export import Options, build
from glsl_infer.importers.keras import to_graph
from training import data
from training.batch_norm import recalibrate
from training.models import x22


def random_x22() -> keras.Model:
    """Return X22 at 385x385 with seeded random weights and the batch norm statistics that belong to them."""
    keras.utils.set_random_seed(22)
    model = x22()
    rng = np.random.default_rng(22)
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            channels = layer.gamma.shape
            layer.gamma.assign(rng.uniform(0.5, 2.5, channels))
            layer.beta.assign(rng.normal(0.0, 0.7, channels))
    recalibrate(model, [probe.picture(385)[None].astype(np.float32) / 255.0])
    return model


def main() -> int:
    """Write everything; return the exit code."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--keras", type=Path, required=True)
    parser.add_argument("--size", type=int, required=True)
    args = parser.parse_args()
    try:
        split = data.find(args.data).splits["test"]
        pictures = data.pixels(split, args.size)
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    model = keras.saving.load_model(args.keras, compile=False)
    logits = np.asarray(model.predict(pictures.astype(np.float32) / 255.0, batch_size=32, verbose=0))
    np.savez_compressed(args.out / "results.npz", logits=logits, pictures=pictures, labels=split.labels)
    graph = to_graph(random_x22())
    for mode in ("baked", "uniform", "auto"):
        made, _, _ = build(graph, [f"class {index}" for index in range(120)], options=Options(weights=mode))
        bundles.write(made, args.out / f"x22-{mode}.glslnn")
    return 0


if __name__ == "__main__":
    sys.exit(main())
