"""Contact sheet of augmented training images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from keras import ops
from numpy.typing import NDArray
from PIL import Image

from glsl_infer.runtime import images
from training import augmentation
from training.recipe import Recipe
from training.variation import PicturesOnDevice

COLUMNS, ROWS, SIDE = 8, 6, 160
"""Columns, rows and cell size of the sheet. The first column has the original images."""


def contact_sheet(path: Path, pixels: NDArray[np.uint8], recipe: Recipe, size: int) -> None:
    """Write a contact sheet: each row has one training image, then ``COLUMNS - 1`` augmentations.

    Args:
        path: of the sheet, whose suffix selects the format. An existing file is replaced.
        pixels: uint8 (n, side, side, 3), the training split.
        recipe: its augmentation is applied at full strength.
        size: side of the network's input.

    Raises:
        InputError: the suffix is not an image format, or the file cannot be written.
    """
    rows = np.random.default_rng(recipe.seed).permutation(len(pixels))[:ROWS]
    layer = PicturesOnDevice(pixels[rows])
    columns = [layer(_tensors(augmentation.plain(len(rows))), size=size)]
    for epoch in range(COLUMNS - 1):
        draws = augmentation.draw(recipe.augmentation, len(rows), recipe.seed, epoch)
        columns.append(layer(_tensors(draws), size=size))
    sheet = np.stack([np.asarray(ops.convert_to_numpy(column)) for column in columns], axis=1)
    side = min(SIDE, size)
    canvas = Image.new("RGB", (len(columns) * side, len(rows) * side))
    for row, pictures in enumerate(np.round(sheet * 255.0).astype(np.uint8)):
        for column, picture in enumerate(pictures):
            cell = Image.fromarray(picture).resize((side, side), Image.Resampling.BOX)
            canvas.paste(cell, (column * side, row * side))
    path.parent.mkdir(parents=True, exist_ok=True)
    images.save(np.asarray(canvas), path)


def _tensors(draws: augmentation.Draws) -> dict[str, object]:
    return {name: ops.convert_to_tensor(values) for name, values in augmentation.packed(draws).items()}
