#!/usr/bin/env python3
"""Measure the trained network of masks as its bundle draws it, beside a plain filter; write aibench/masks.jpg.

    python scripts/aibench_masks.py DIR      # DIR gets masks.keras and masks.glslnn, once

What it finds are the waste photographs of docs/images, cut out and pasted onto the groceries there: all of the test
splits. The numbers go to aibench.json; ``scripts/aibench.py --page`` then writes the page. Needs TensorFlow.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from glsl_infer.runtime.session import Session  # noqa: E402
from glsl_infer.support.child_process import module_command  # noqa: E402
from training.aibench.pasted import CLASSES, cut_out, pasted  # noqa: E402

PICTURES, NUMBERS = ROOT / "docs/images", ROOT / "docs/engineering/aibench.json"
THINGS = ("cardboard18", "glass128", "metal114", "paper104", "plastic103", "trash100")
BEHIND = ("banana006", "carrots014", "leek001", "pineapple007")
SIDE, AT = 64, (16, 20)
SHOWN = {"cardboard18", "glass128", "plastic103"}
COLOURS = np.array(
    [[0, 0, 0], [230, 160, 60], [40, 200, 80], [150, 150, 240], [255, 255, 255], [60, 140, 255], [240, 60, 60]],
    np.uint8,
)


def bundle_in(folder: Path) -> Path:
    """Return the bundle in a folder, made there if it is not."""
    path = folder / "masks.glslnn"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(module_command("training.aibench.build", folder, "masks"), check=True)
        command = module_command(
            "glsl_infer", "export", folder / "masks.keras", "-o", path, "--calibrate", PICTURES, "--input-range=0,1"
        )
        subprocess.run(command, check=True)
    return path


def by_colour(picture: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return what a plain filter takes for waste: pixels of little colour, as groceries are seldom."""
    return np.ptp(picture.astype(int), axis=-1) < 40


def united(found: NDArray[np.bool_], there: NDArray[np.bool_]) -> float:
    """Return intersection over union."""
    return float((found & there).sum() / max((found | there).sum(), 1))


def main() -> int:
    """Measure; return the exit code."""
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    shares: dict[str, list[float]] = {"filter": [], "after": []}
    rows, right = [], 0
    with Session(bundle_in(Path(sys.argv[1]))) as session:
        for thing in THINGS:
            cut = cut_out(PICTURES / f"{thing}.jpg")
            if cut is None:
                continue
            material = CLASSES.index(thing.rstrip("0123456789"))
            for behind in BEHIND:
                picture, there = pasted(cut, PICTURES / f"{behind}.jpg", SIDE, AT)
                classes = np.asarray(session.run(picture)).reshape(*there.shape, -1).argmax(axis=-1)
                shares["filter"].append(united(by_colour(picture), there))
                shares["after"].append(united(classes > 0, there))
                counts = np.bincount(classes[there], minlength=len(CLASSES))
                right += int(counts[1:].argmax() + 1 == material)
                if behind == BEHIND[1] and thing in SHOWN:
                    plain = np.where(by_colour(picture)[..., None], 255, 0) * np.ones(3)
                    rows.append([picture, plain, COLOURS[classes], COLOURS[material * there]])
    image = np.concatenate([np.concatenate(row, axis=1) for row in rows]).astype(np.uint8)
    target = ROOT / "docs/engineering/aibench/masks.jpg"
    target.parent.mkdir(exist_ok=True)
    Image.fromarray(image).resize((2 * image.shape[1], 2 * image.shape[0]), Image.Resampling.NEAREST).save(target)
    numbers: dict[str, Any] = json.loads(NUMBERS.read_text("utf-8"))
    held = json.loads((ROOT / "training/aibench/weights/masks.json").read_text("utf-8"))
    numbers["masks"] = {
        "bundle": {
            "pictures": len(shares["after"]),
            "right": right,
            **{k: float(np.mean(v)) for k, v in shares.items()},
        },
        "held_out": held,
    }
    NUMBERS.write_text(json.dumps(numbers, indent=1, sort_keys=True) + "\n", "utf-8")
    print(json.dumps(numbers["masks"]["bundle"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
