#!/usr/bin/env python3
"""Convert the PyTorch model of your-network.md by ONNX and TensorFlow Lite, and compare the bundles with the model.

.venv/bin/python scripts/pytorch.py [--python PYTHON] [--folder FOLDER]

``PYTHON`` has torch, onnx, onnxscript and litert-torch, and can be in another environment: a child process converts,
because libraries of these packages conflict with a driver. Missing packages are reported and their format is left out.
The exit code is 1 if an output of a bundle differs too much from the model's, and 2 if nothing could be converted.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/guide/your-network.md"

PICTURES, SIZE = 6, 64

MOST_APART = 0.05
"""Largest difference of a class, relative to its spread over the calibration images, for an 8-bit network."""

WEIGHTS = """
import torch
torch.manual_seed(3)
"""
"""Code before the page's code, for the same weights in each run."""

SEEN = """
import numpy as np
model.train()
batch = torch.from_numpy(np.load("pictures.npy"))
model(batch)  # statistics of batch normalisation that are not those of no picture
model.eval()
picture = torch.zeros(1, 3, 64, 64)
"""
"""Code between creating the model and its export."""

EXPECTED = """
np.save("expected.npy", np.concatenate([model(one[None]).detach().numpy() for one in batch]))
"""


def blocks() -> dict[str, str]:
    """Return the page's code: ``net``, ``onnx`` and ``tflite``."""
    found = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    return dict(zip(("net", "onnx", "tflite"), found))


def convert(python: str, folder: Path) -> dict[str, str]:
    """Run the page's code in a folder; return the formats that failed, with the last line of the reason."""
    code = blocks()
    (folder / "net.py").write_text(code["net"], "utf-8")
    making, _, exporting = code["onnx"].partition("torch.onnx.export")
    start = WEIGHTS + making + SEEN
    wanted = {"onnx": f"torch.onnx.export{exporting}{EXPECTED}", "tflite": f"{code['tflite']}{EXPECTED}"}
    failed = {}
    for kind, rest in wanted.items():
        done = subprocess.run(
            [python, "-c", start + rest], cwd=folder, capture_output=True, text=True, errors="replace", check=False
        )
        if done.returncode or not (folder / f"net.{kind}").is_file():
            failed[kind] = (done.stderr.strip().splitlines() or ["it wrote no file"])[-1]
    return failed


def photos(folder: Path) -> None:
    """Write images, and the network's input for them: float32 (images, 3, height, width) from 0 to 1."""
    (folder / "photos").mkdir(exist_ok=True)
    rng = np.random.default_rng(7)
    batch = []
    for number in range(PICTURES):
        colours = 0.7 * rng.integers(0, 256, 3) + 0.3 * rng.integers(0, 256, (8, 8, 3))
        small = Image.fromarray(colours.astype(np.uint8))
        picture = small.resize((SIZE, SIZE), Image.Resampling.BICUBIC)
        picture.save(folder / "photos" / f"{number}.png")
        batch.append(np.asarray(picture, np.float32).transpose(2, 0, 1) / 255.0)
    np.save(folder / "pictures.npy", np.stack(batch))


def apart(folder: Path, kind: str) -> float:
    """Export a converted file, and run the bundle on every image; return the largest difference from the model."""
    import glsl_infer
    from glsl_infer.cli import main

    (folder / "labels.txt").write_text("".join(f"class {number}\n" for number in range(5)), "utf-8")
    made = folder / f"{kind}.glslnn"
    given = ["export", str(folder / f"net.{kind}"), "-o", str(made), "--labels", str(folder / "labels.txt")]
    code = main([*given, "--calibrate", str(folder / "photos"), "--verify", "0"])
    if code:
        raise SystemExit(code)
    expected = np.load(folder / "expected.npy")
    with glsl_infer.Session(made) as session:
        drawn = [session.run(np.asarray(Image.open(path))) for path in sorted((folder / "photos").iterdir())]
    return float((np.abs(np.stack(drawn) - expected).max(axis=0) / np.ptp(expected, axis=0)).max())


def main() -> int:
    """Convert, export, run and compare; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--python", default=sys.executable, help="the Python that has torch (default: this one)")
    parser.add_argument("--folder", type=Path, help="where files are written and stay (default: nowhere)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        photos(folder)
        failed = convert(args.python, folder.resolve())
        worst = 0.0
        for kind in ("onnx", "tflite"):
            if kind in failed:
                print(f"net.{kind}: not converted: {failed[kind]}")
                continue
            off = apart(folder, kind)
            print(f"net.{kind}: outputs are at most {100 * off:.2f} % of their spread over pictures from PyTorch's")
            worst = max(worst, off)
    if len(failed) == 2:
        return 2
    return 1 if worst > MOST_APART else 0


if __name__ == "__main__":
    sys.exit(main())
