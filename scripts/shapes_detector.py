"""Train a detector for circles, squares and triangles in ten minutes, on images drawn by this script.

    python scripts/shapes_detector.py train build/shapes          # Keras: shapes.keras, pictures, and the task
    glsl-infer export build/shapes/shapes.keras -o build/shapes/shapes.glslnn --images build/shapes/pictures
    python scripts/shapes_detector.py evaluate build/shapes       # draws 300 new pictures, and counts
    glsl-infer detect build/shapes/pictures/00.png --task build/shapes/shapes.json -o shapes.png

For another network, change ``ANCHORS``, ``network`` and ``task``; task-files.md has all keys of a task.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from glsl_infer.tasks.anchors import Level, anchors

LABELS = ("circle", "square", "triangle")
SIZE = 128
ANCHORS = (Level(((0.16, 0.16), (0.24, 0.24)), stride=8), Level(((0.34, 0.34), (0.48, 0.48)), stride=16))
STEPS, BATCH = 900, 24
LEAST_OVERLAP = 0.5
"""Smallest intersection over union of a box and a shape for the shape to count as found."""


def scene(random: np.random.Generator) -> tuple[NDArray[np.uint8], NDArray[np.float32], list[int]]:
    """Return an image, uint8 (SIZE, SIZE, 3), its boxes, (number, 4) relative to its size, and their classes."""
    coarse = random.integers(0, 255, (int(random.integers(1, 9)), int(random.integers(1, 9)), 3), np.uint8)
    image = Image.fromarray(coarse).resize((2 * SIZE, 2 * SIZE), Image.Resampling.BILINEAR)
    canvas, boxes, classes = ImageDraw.Draw(image), [], []
    for _ in range(int(random.integers(1, 5))):
        side = random.uniform(0.13, 0.5)
        x, y = random.uniform(side / 2, 1 - side / 2, 2)
        box = np.array([x - side / 2, y - side / 2, x + side / 2, y + side / 2], np.float32)
        if boxes and max(overlaps(box, np.stack(boxes))) > 0.05:
            continue
        class_index, ink = int(random.integers(3)), tuple(random.integers(0, 256, 3).tolist())
        left, top, right, bottom = (2 * SIZE * box).tolist()
        if class_index == 0:
            canvas.ellipse((left, top, right, bottom), fill=ink)
        elif class_index == 1:
            canvas.rectangle((left, top, right, bottom), fill=ink)
        else:
            canvas.polygon([((left + right) / 2, top), (right, bottom), (left, bottom)], fill=ink)
        boxes.append(box)
        classes.append(class_index)
    pixels = np.asarray(image.resize((SIZE, SIZE), Image.Resampling.BOX)).astype(np.float64)
    pixels += random.normal(0.0, random.uniform(0.0, 12.0), pixels.shape)
    return np.clip(pixels, 0, 255).astype(np.uint8), np.stack(boxes), classes


def overlaps(box: NDArray[np.floating], other_boxes: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the intersection over union of a box with each of ``other_boxes``, (number, 4)."""
    shared = np.prod(
        np.maximum(np.minimum(box[2:], other_boxes[:, 2:]) - np.maximum(box[:2], other_boxes[:, :2]), 0.0), axis=1
    )
    areas = np.prod(other_boxes[:, 2:] - other_boxes[:, :2], axis=1) + np.prod(box[2:] - box[:2])
    return shared / (areas - shared)


def targets(
    every: NDArray[np.float32], boxes: NDArray[np.float32], classes: list[int]
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Return the targets of each anchor: box values (n, 4), classes (n, 3), and weights in the two losses (n, 2)."""
    offsets, targets = np.zeros((len(every), 4), np.float32), np.zeros((len(every), len(LABELS)), np.float32)
    counts = np.ones((len(every), 2), np.float32)
    counts[:, 0] = 0.0
    corners = np.concatenate([every[:, :2] - every[:, 2:] / 2, every[:, :2] + every[:, 2:] / 2], axis=1)
    for box, class_index in zip(boxes, classes):
        overlap = overlaps(box, corners)
        is_matched = overlap >= min(0.5, overlap.max())
        counts[(overlap > 0.35) & ~is_matched, 1] = 0.0  # neither a shape nor background
        counts[is_matched, :] = 1.0
        targets[is_matched] = np.eye(len(LABELS), dtype=np.float32)[class_index]
        middle, size = (box[:2] + box[2:]) / 2, box[2:] - box[:2]
        offsets[is_matched, :2] = (middle - every[is_matched, :2]) / every[is_matched, 2:]
        offsets[is_matched, 2:] = np.log(size / every[is_matched, 2:])
    return offsets, targets, counts


def task() -> dict[str, object]:
    """Return the task: the meaning of the outputs, and the anchors."""
    levels = [{"stride": level.stride, "sizes": [list(size) for size in level.sizes]} for level in ANCHORS]
    return {
        "task": "detection",
        "what": "circles, squares and triangles",
        "model": "shapes.glslnn",
        "boxes": ["boxes_8", "boxes_16"],
        "scores": ["scores_8", "scores_16"],
        "anchors": levels,
        "sizes": "exponential",
        "labels": list(LABELS),
        "overlap": 0.4,
        "exclusive": True,
    }


def network():  # type: ignore[no-untyped-def]
    """Return the Keras network: two boxes at every cell of two feature maps, with four values and three scores each."""
    import keras

    layers = keras.layers

    def block(x, channels, stride):  # type: ignore[no-untyped-def]
        x = layers.Conv2D(channels, 3, stride, padding="same", use_bias=False)(x)
        return layers.ReLU()(layers.BatchNormalization()(x))

    picture = layers.Input((SIZE, SIZE, 3), name="picture")
    x = block(block(picture, 16, 2), 32, 2)
    eight = block(block(block(x, 64, 2), 64, 1), 64, 1)
    sixteen = block(block(eight, 96, 2), 96, 1)
    outputs = []
    for stride, x in ((8, eight), (16, sixteen)):
        outputs.append(layers.Conv2D(2 * 4, 3, padding="same", name=f"boxes_{stride}")(x))
        prior = keras.initializers.Constant(-4.0)  # most anchors are empty
        scores = layers.Conv2D(2 * len(LABELS), 3, padding="same", bias_initializer=prior, name=f"scores_{stride}")(x)
        outputs.append(scores)
    return keras.Model(picture, outputs)


def train(folder: Path) -> int:
    """Train, and write the network, calibration images, and the task."""
    import keras
    import tensorflow as tf

    folder.mkdir(parents=True, exist_ok=True)
    every, random = anchors(ANCHORS, SIZE, SIZE), np.random.default_rng(1)
    model = network()
    rate = keras.optimizers.schedules.CosineDecay(2e-3, STEPS)
    optimizer = keras.optimizers.Adam(rate)

    @tf.function
    def step(pictures, offsets, targets, counts):  # type: ignore[no-untyped-def]
        with tf.GradientTape() as tape:
            outputs = model(pictures, training=True)
            boxes = tf.concat([tf.reshape(output, (BATCH, -1, 4)) for output in outputs[0::2]], 1)
            scores = tf.concat([tf.reshape(output, (BATCH, -1, len(LABELS))) for output in outputs[1::2]], 1)
            positive = tf.maximum(tf.reduce_sum(counts[..., 0]), 1.0)
            right = tf.sigmoid(scores) * (2 * targets - 1) + (1 - targets)  # the probability of the truth
            focal = (1 - right) ** 2 * tf.nn.sigmoid_cross_entropy_with_logits(targets, scores)
            error = tf.abs(boxes - offsets)
            smooth = tf.where(error < 0.1, error * error * 5, error - 0.05)
            loss = tf.reduce_sum(focal * counts[..., 1:]) + 2 * tf.reduce_sum(smooth * counts[..., :1])
            loss /= positive
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    started = time.monotonic()
    for index in range(STEPS):
        scenes = [scene(random) for _ in range(BATCH)]
        pictures = np.stack([pixels for pixels, _, _ in scenes]).astype(np.float32) / 255
        truths = [targets(every, boxes, classes) for _, boxes, classes in scenes]
        loss = step(pictures, *(np.stack(arrays) for arrays in zip(*truths)))
        if index % 200 == 0 or index == STEPS - 1:
            print(f"step {index}: loss {float(loss):.3f}, {time.monotonic() - started:.0f} s", flush=True)
    model.save(folder / "shapes.keras")
    (folder / "pictures").mkdir(exist_ok=True)
    for index in range(32):
        Image.fromarray(scene(random)[0]).save(folder / f"pictures/{index:02}.png")
    (folder / "shapes.json").write_text(json.dumps(task(), indent=1) + "\n", "utf-8")
    return 0


def evaluate(folder: Path, count: int = 300) -> int:
    """Count the exported network's detections in new images, on this machine's driver."""
    from glsl_infer.tasks import Detector

    random, shapes, right, wrong = np.random.default_rng(2), 0, 0, 0
    with Detector(folder / "shapes.json") as detector:
        for _ in range(count):
            pixels, boxes, classes = scene(random)
            shapes += len(boxes)
            unmatched = set(range(len(boxes)))
            for detection in detector(pixels):
                shared = overlaps(np.array(detection.box) / SIZE, boxes)
                best = max(unmatched, key=lambda index: shared[index], default=None)
                if best is not None and shared[best] >= LEAST_OVERLAP and classes[best] == detection.index:
                    right += 1
                    unmatched.discard(best)
                else:
                    wrong += 1
    print(f"{count} images with {shapes} shapes: {right} found, {wrong} found where there are none or others")
    return 0


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("train", "evaluate"))
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    return train(args.folder) if args.what == "train" else evaluate(args.folder)


if __name__ == "__main__":
    sys.exit(main())
