#!/usr/bin/env python3
"""Measure an exported super-resolution model on photographs: PSNR compared with float Keras and bicubic resizing.

    scripts/get-data trashnet data/trashnet
    scripts/get-data grocery data/grocery
    python scripts/bench/superres_scores.py --data data

Every fourth val photograph is measured twice: halved before, as in training/super_resolution.py, and at its own size.
The GPU and the exact reference process tiles, as ``glsl-infer run --whole`` does. Keras processes the entire image, in
a separate process, which also reads the photographs (``training`` imports Keras).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from glsl_infer import bundle as bundles
from glsl_infer.errors import GlslInferError
from glsl_infer.graph import reference
from glsl_infer.runtime import images
from glsl_infer.runtime.pictures import tiling
from glsl_infer.runtime.pictures.preprocess import open_image
from glsl_infer.runtime.session import Session

ROOT = Path(__file__).resolve().parents[2]
Picture = NDArray[np.uint8]

FIRST, EVERY = 1, 4
ROWS = ("halved", "own size")
LUMA = np.array([0.299, 0.587, 0.114])


def write_float(args: argparse.Namespace) -> None:
    """Write every sharp image, its half, and float Keras' result for that half to the folder ``args.float``."""
    sys.path.insert(0, str(ROOT))
    import keras

    from training import crops, super_resolution

    weights = keras.models.load_model(args.keras).get_weights()
    networks = {}
    for index, path in enumerate(crops.find(args.data)["val"][FIRST::EVERY]):
        picture = np.asarray(open_image(path), np.uint8)
        cropped = picture[: picture.shape[0] // 2 * 2, : picture.shape[1] // 2 * 2]
        for row, sharp in ((ROWS[0], crops.read([path], 64)[0]), (ROWS[1], cropped)):
            small = crops.halve(sharp)
            shape = small.shape[:2]
            if shape not in networks:
                networks[shape] = super_resolution.network(shape)
                networks[shape].set_weights(weights)
            numbers = np.asarray(networks[shape](small[None].astype(np.float32) / np.float32(255.0)))[0]
            pixels = np.floor(np.clip(numbers, 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)
            np.savez(args.float / f"{row}-{index}.npz", sharp=sharp, small=small, float=pixels)


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Print the table."""
    bundle = bundles.read(args.bundle)
    size = bundle.manifest.input.size

    def exact(small: Picture) -> Picture:
        corners = tiling.tiles(*small.shape[:2], size, images.OVERLAP)
        run = lambda tile: images.to_picture(reference.run(bundle, tile, mode="stored"), bundle)  # noqa: E731
        return tiling.through(lambda tiles: map(run, tiles), small, size, corners)

    with Session(bundle) as session:
        for row in ROWS:
            scores: dict[str, list[tuple[float, float]]] = {}
            differing = largest = total = 0
            for path in sorted(folder.glob(f"{row}-*.npz")):
                with np.load(path) as saved:
                    sharp, small, float_keras = saved["sharp"], saved["small"], saved["float"]
                height, width = sharp.shape[:2]
                results = {
                    "bicubic": np.asarray(Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)),
                    "float Keras": float_keras,
                    "exact reference": exact(small),
                    "GPU": images.run_whole(session, small),
                }
                for name, result in results.items():
                    scores.setdefault(name, []).append(psnr(result, sharp))
                off = np.abs(results["GPU"].astype(int) - results["exact reference"])
                differing += np.count_nonzero(off)
                total += sharp.size
                largest = max(largest, int(off.max()))
            print(f"{row}, {len(scores['GPU'])} photographs")
            lost = np.array(scores["float Keras"]) - np.array(scores["GPU"])
            for name, values in scores.items():
                rgb, luma = np.mean(values, axis=0)
                print(f"  {name:16} RGB {rgb:.2f} dB  luma {luma:.2f} dB")
            print(f"  float Keras - GPU, luma: mean {lost[:, 1].mean():.3f} dB, largest {lost[:, 1].max():.2f} dB")
            print(f"  bytes of GPU and exact reference that differ: {differing / total:.2e}, by up to {largest}")


def psnr(result: Picture, sharp: Picture) -> tuple[float, float]:
    """Return the peak signal-to-noise ratio in dB over RGB, and over luma (BT.601 weights, full range)."""
    error = result.astype(np.float64) - sharp
    rgb, luma = (max(float(np.mean(e**2)), 1e-9) for e in (error, error @ LUMA))
    return 10 * float(np.log10(255**2 / rgb)), 10 * float(np.log10(255**2 / luma))


def main() -> int:
    """Parse the arguments, measure, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0], allow_abbrev=False)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of data sets (default: data)")
    parser.add_argument("--bundle", type=Path, default=ROOT / "models/superres-x2-96.glslnn", help="what is measured")
    parser.add_argument("--keras", type=Path, default=ROOT / "models/superres-x2-96.keras", help="what it was made of")
    parser.add_argument("--float", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    try:
        if args.float:
            write_float(args)
            return 0
        with tempfile.TemporaryDirectory() as name:
            command = [sys.executable, __file__, "--data", str(args.data), "--keras", str(args.keras)]
            if subprocess.run([*command, "--float", name], check=False).returncode:
                return 1
            measure(args, Path(name))
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
