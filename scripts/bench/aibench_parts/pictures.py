"""Restoration of degraded photographs by trained networks, compared with a plain filter: PSNR and sample images."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter, ImageOps

from glsl_infer.runtime.session import Session
from glsl_infer.tools.aibench.before import CHANGES, PICTURES, Change, cut
from glsl_infer.tools.aibench.bundles import bundle_of
from glsl_infer.tools.aibench.tests import Test

EDGE = 8
"""Ignored pixels at the edge, because a network sees zeros outside the image."""

SHOWN_IN = PICTURES.parent / "aibench"
"""Folder of the rows of images, separate from the photographs, which calibrate the ranges of bundles."""

SHOWN = 1
"""Index of the photograph in the row of images."""


@dataclass(frozen=True)
class Task:
    """A degradation of photographs, and a plain filter against it."""

    filter: Change
    name: str


TASKS = {
    "srcnn": Task(
        lambda spoilt: spoilt.filter(ImageFilter.UnsharpMask(radius=1.6, percent=150, threshold=0)),
        "unsharp mask",
    ),
    "vdsr": Task(
        lambda spoilt: spoilt.filter(ImageFilter.UnsharpMask(radius=1.2, percent=60, threshold=0)),
        "unsharp mask",
    ),
    "dped": Task(lambda spoilt: ImageOps.autocontrast(spoilt, cutoff=0.5), "contrast of each colour"),
}
"""By network: the degradation it is trained to remove."""


def pictures(test: Test, folder: Path) -> dict[str, Any]:
    """Run a trained network on all photographs of the pages; write the row of one, and return mean PSNR in dB."""
    task = TASKS[test.network]
    scores: dict[str, list[float]] = {"before": [], "filter": [], "after": []}
    files = sorted(PICTURES.glob("*.jpg"))
    with Session(bundle_of(test, folder, False, print)) as session:
        (entry,) = session.bundle.manifest.inputs
        mode = "L" if entry.shape[2] == 1 else "RGB"
        for index, path in enumerate(files):
            sharp = cut(path, test.width, test.height)
            spoilt, sharp = CHANGES[test.network](sharp), sharp.convert(mode)
            plain = task.filter(spoilt)
            answer = session.run(np.asarray(spoilt).reshape(entry.shape))
            after = np.uint8(np.clip(255.0 * answer + 0.5, 0, 255)).reshape(np.asarray(sharp).shape)
            for name, pixels in (("before", spoilt), ("filter", plain), ("after", after)):
                scores[name].append(_psnr(np.asarray(pixels), np.asarray(sharp)))
            if index == SHOWN:
                _row([spoilt, plain, Image.fromarray(after), sharp], SHOWN_IN / f"{test.network}.jpg")
    return {"photographs": len(files), "filter_name": task.name} | {
        name: float(np.mean(values)) for name, values in scores.items()
    }


def _psnr(actual: NDArray[np.uint8], expected: NDArray[np.uint8]) -> float:
    off = (actual.astype(np.float64) - expected)[EDGE:-EDGE, EDGE:-EDGE] / 255.0
    return float(-10.0 * np.log10(max(float((off**2).mean()), 1e-10)))


def _row(images: list[Image.Image], path: Path) -> None:
    """Write images next to each other into one file."""
    width, height = images[0].size
    row = Image.new("RGB", (len(images) * (width + 4) - 4, height), "white")
    for index, picture in enumerate(images):
        row.paste(picture.convert("RGB"), (index * (width + 4), 0))
    path.parent.mkdir(exist_ok=True)
    row.save(path, quality=90)
