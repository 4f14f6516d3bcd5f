"""Compare tasks with LiteRT end to end: the same file, crops and decoding, drawn in 8 bits and computed in floats.

    python scripts/bench/task_agreement.py PICTURE ...

The models must be fetched before (``glsl-infer get``). The values of docs/engineering/tasks.md are for scikit-image's
``astronaut.png`` and Matplotlib's ``grace_hopper.jpg``, from these packages, and for a drawn hand (``--hand``).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.importers.tflite.file import read_model
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.tasks import Cut, Detector, Landmarker, Segmenter, models, names, open_task
from glsl_infer.tasks.cuts import pixels_of
from glsl_infer.tools.get import catalogue, samples
from glsl_infer.tools.validate.litert_outputs import LiteRt


class Judge:
    """A published network computed by LiteRT, on pixels prepared as for a task."""

    def __init__(self, name: str) -> None:
        entry = catalogue.read()[name]
        path = models.folder() / f"{name}.tflite"
        self._model = read_model(path)
        self._low, self._high = entry.input_range
        self._runner = LiteRt(path, every_tensor=False)

    def __call__(self, pixels: NDArray[np.uint8]) -> dict[str, NDArray[np.float32]]:
        """Return all outputs for pixels of the network's input size."""
        numbers = pixels.astype(np.float32) / 255 * (self._high - self._low) + self._low
        self._runner.run({index: numbers for _, index in self._model.inputs})
        outputs = {name: self._runner.tensor(index) for name, index in self._model.outputs}
        return {name: value[0] if value.ndim == 4 else value for name, value in outputs.items() if value is not None}


def detection(task: Detector, pixels: NDArray[np.uint8]) -> list[str]:
    """Compare boxes, points and scores; differences are relative to the box's longer side."""
    judge = Judge(task.description.model)
    entry = task.session.bundle.manifest.input
    size = (pixels.shape[1], pixels.shape[0])
    ours, theirs = task(pixels), task.found(judge(preprocess.load_for(pixels, entry)), size)
    if len(ours) != len(theirs):
        return [f"{len(ours)} found, LiteRT {len(theirs)}: {ours.as_json()}, {theirs.as_json()}"]
    lines = []
    for mine, reference in zip(ours, theirs):
        side = max(reference.box[2] - reference.box[0], reference.box[3] - reference.box[1])
        box = np.abs(np.subtract(mine.box, reference.box)).max() / side
        points = np.abs(mine.points - reference.points).max() / side if len(reference.points) else 0.0
        lines.append(
            f"score {mine.score:.3f}, LiteRT {reference.score:.3f}; box {100 * box:.2f} %, points {100 * points:.2f} %"
        )
    return lines or ["nothing found, nor by LiteRT"]


def landmarks(task: Landmarker, pixels: NDArray[np.uint8]) -> list[str]:
    """Compare points in the crops of our detector; differences are relative to the crop's side."""
    judge, lines = Judge(task.description.model), []
    entry = task.session.bundle.manifest.input
    size = (pixels.shape[1], pixels.shape[0])
    for mine in task(pixels):
        cut: Cut = mine.cut
        reference = task.points(judge(pixels_of(pixels, cut, entry.height, entry.width)), cut, size)
        if reference is None:
            lines.append("LiteRT finds nothing in this cut")
            continue
        away = np.linalg.norm(mine.points[:, :2] - reference.points[:, :2], axis=1) / cut.width
        lines.append(
            f"score {mine.score:.3f}, LiteRT {reference.score:.3f}; points {100 * away.mean():.2f} %, "
            f"the worst {100 * away.max():.2f} %"
        )
    return lines or ["nothing found"]


def segmentation(task: Segmenter, pixels: NDArray[np.uint8]) -> list[str]:
    """Compare masks: intersection over union of their areas, and the mean difference of a pixel."""
    judge = Judge(task.description.model)
    entry = task.session.bundle.manifest.input
    size = (pixels.shape[1], pixels.shape[0])
    mine, reference = task(pixels).values, task.mask(judge(preprocess.load_for(pixels, entry)), size).values
    both, either = ((mine > 0.5) & (reference > 0.5)).sum(), ((mine > 0.5) | (reference > 0.5)).sum()
    return [f"shared area {both / max(1, either):.4f}, mean difference {np.abs(mine - reference).mean():.4f}"]


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for each task, image and object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", nargs="*", type=Path)
    parser.add_argument("--hand", action="store_true", help="a drawn hand as well")
    parser.add_argument("--task", nargs="*", default=[name for name in names() if name not in ("dogs", "groceries")])
    args = parser.parse_args(argv)
    pictures: Mapping[str, NDArray[np.uint8]] = {
        **{path.name: np.asarray(preprocess.open_image(path)) for path in args.pictures},
        **({"a drawn hand": samples.hand(np.random.default_rng(5))} if args.hand else {}),
    }
    how: dict[type, Any] = {Detector: detection, Landmarker: landmarks, Segmenter: segmentation}
    for name in args.task:
        with open_task(name) as task:
            for picture, pixels in pictures.items():
                for line in how[type(task)](task, pixels):
                    print(f"{name}, {picture}: {line}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
