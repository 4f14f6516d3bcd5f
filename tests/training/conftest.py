"""A data set of generated images that a network can learn: three classes that differ in colour."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

COLOURS = {"blue": (40, 60, 200), "green": (50, 190, 60), "red": (210, 50, 40)}
COUNTS = {"train": 6, "val": 3, "test": 2}


def picture(path: Path, colour, seed: int, size: int = 48) -> None:
    """Write an image of a noisy colour."""
    noise = np.random.default_rng(seed).normal(0, 25, (size, size + 8, 3))
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.clip(noise + colour, 0, 255).astype(np.uint8)).save(path)


@pytest.fixture(scope="session")
def image_folder(tmp_path_factory):
    """Return a folder of ``SPLIT/CLASS/*.png``. All tests here share it, so they must not change it."""
    root = tmp_path_factory.mktemp("pictures")
    for split, count in COUNTS.items():
        for index, (label, colour) in enumerate(COLOURS.items()):
            for count_so_far in range(count):
                picture(
                    root / split / label / f"{label}{count_so_far}.png",
                    colour,
                    100 * len(split) + 10 * index + count_so_far,
                )
    return root
