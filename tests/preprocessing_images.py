"""Images for tests of preprocessing."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Pixels = NDArray[np.uint8]
WHITE = (255, 255, 255)


def noise(width: int, height: int, seed: int = 0) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def saved(folder: Path, picture: Image.Image, name: str = "picture.png", **options: object) -> Path:
    picture.save(folder / name, **options)
    return folder / name


def only_colour(pixels: Pixels) -> tuple[int, ...]:
    """Return the colour of an image with a single colour."""
    assert (pixels == pixels[0, 0]).all()
    return tuple(int(value) for value in pixels[0, 0])


def palette_picture() -> Image.Image:
    """Return an image with red, green and blue columns, from a palette of three colours."""
    picture = Image.new("P", (3, 3))
    picture.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    picture.putdata([0, 1, 2] * 3)
    return picture


def icc_profile(space: bytes, tags: dict[bytes, bytes]) -> bytes:
    """Return a minimal ICC version 2 monitor profile."""
    table, body = struct.pack(">I", len(tags)), b""
    for name, data in tags.items():
        table += name + struct.pack(">II", 132 + 12 * len(tags) + len(body), len(data))
        body += data
    head = struct.pack(">I4xI4s4s4s", 132 + 12 * len(tags) + len(body), 0x02400000, b"mntr", space, b"XYZ ")
    head += struct.pack(">6H4s", 2020, 1, 1, 0, 0, 0, b"acsp") + bytes(28) + xyz(D50)[8:]
    return head.ljust(128, b"\0") + table + body


def xyz(values: tuple[float, ...]) -> bytes:
    return b"XYZ \0\0\0\0" + struct.pack(">3i", *(round(value * 65536) for value in values))


def linear_rgb(red: tuple[float, ...], green: tuple[float, ...], blue: tuple[float, ...]) -> bytes:
    primaries = {b"rXYZ": xyz(red), b"gXYZ": xyz(green), b"bXYZ": xyz(blue)}
    return icc_profile(b"RGB ", {b"wtpt": xyz(D50), **primaries, b"rTRC": LINEAR, b"gTRC": LINEAR, b"bTRC": LINEAR})


RED, GREEN, BLUE = (0.4360, 0.2225, 0.0139), (0.3851, 0.7169, 0.0971), (0.1431, 0.0606, 0.7141)
"""The primaries of sRGB, adapted to D50 as in ICC profiles."""
D50 = (0.9642, 1.0, 0.8249)


LINEAR = b"curv" + struct.pack(">II", 0, 1) + struct.pack(">H2x", 256)
"""The curve of gamma 1."""
