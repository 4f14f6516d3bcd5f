"""A film for Chromium's camera: a moving photograph."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageOps

FRAMES = 40
SIZE = (320, 240)


def frames(photograph: Path) -> list[Image.Image]:
    """Return the frames: a window that moves across the photograph and back."""
    with Image.open(photograph) as image:
        fitted = ImageOps.fit(image.convert("RGB"), (400, 300))
    shifts = [abs((i + FRAMES // 2) % FRAMES - FRAMES // 2) for i in range(FRAMES)]
    return [fitted.crop((2 * i, i, 2 * i + SIZE[0], i + SIZE[1])) for i in shifts]


def write(pictures: list[Image.Image], path: Path) -> None:
    """Write a Motion JPEG film, which Chromium repeats at 30 frames a second."""
    with path.open("wb") as file:
        for picture in pictures:
            picture.save(file, "JPEG", quality=92)
