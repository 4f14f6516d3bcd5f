"""What a segmentation finds: a mask of the picture, which cuts out, or lays what it holds on something else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor, ImageFilter

from glsl_infer.bundle.manifest import CENTER_CROP
from glsl_infer.errors import InputError
from glsl_infer.runtime.pictures import preprocess, scaling
from glsl_infer.runtime.pictures.preprocess import ImageSource
from glsl_infer.tasks.drawing import colour, copy_of

BLUR = "blur"
BLUR_SHARE = 0.02
"""Radius of the blur, in parts of the picture's longer side."""

_PRESENT = 0.005
"""Share of a picture below which nothing was found in it."""

_SCORE = 0.5
"""Score of a mask below which nothing was found. With the network for selfies it rejects 43 % of the masks of other
things (77 photographs of groceries, waste, a cat ...) and 5 % of those of people (42 views of 7 photographs)."""

_SURE, _DOUBTED = 0.9, 0.1
"""Numbers of pixels above which the network is sure of them, and above which it is not sure of the contrary."""

Background = Union[str, Path, Image.Image, NDArray[np.uint8]]
"""``blur``, a colour as Pillow names it (``white``, ``#204080``), or a picture: a file or an image."""


@dataclass(frozen=True, eq=False)
class Mask:
    """How much of each pixel belongs to what was looked for.

    Attributes:
        part: the network's own numbers, float32 (rows, columns), 0 to 1.
        box: left, top, right and bottom of what is of the picture among them, in numbers.
        inner: the same rectangle in pixels of the picture; beyond it there is nothing.
        edge: between which numbers the edge is drawn softly.
        size: width and height of the picture in pixels.
    """

    part: NDArray[np.float32]
    box: tuple[float, float, float, float]
    inner: tuple[int, int, int, int]
    edge: tuple[float, float]
    size: tuple[int, int]

    @cached_property
    def values(self) -> NDArray[np.float32]:
        """The numbers of all pixels, float32 (height, width) of the picture."""
        left, top, right, bottom = self.inner
        inside = Image.fromarray(self.part).resize(
            (right - left, bottom - top), Image.Resampling.BILINEAR, box=self.box
        )
        values = np.zeros((self.size[1], self.size[0]), np.float32)
        values[top:bottom, left:right] = np.asarray(inside)
        return values

    @property
    def share(self) -> float:
        """How much of the picture it covers, 0 to 1."""
        return float(self.alpha.mean() / 255.0)

    @cached_property
    def score(self) -> float:
        """How sure the network is of the whole mask, 0 to 1: the share of sure pixels among all possible ones."""
        return float((self.part > _SURE).sum() / max((self.part > _DOUBTED).sum(), 1))

    @property
    def present(self) -> bool:
        """Whether it covers anything to speak of, and the network is sure of it."""
        return self.score >= _SCORE and self.share > _PRESENT

    @cached_property
    def alpha(self) -> NDArray[np.uint8]:
        """Opacity, uint8 (height, width): the mask with its edge made smooth."""
        low, high = self.edge
        part = self.values - low
        part /= high - low
        np.clip(part, 0.0, 1.0, out=part)
        smooth = part * part  # times 3 - 2 part, in place: a large photograph has 400 MB of them
        part *= -2.0
        part += 3.0
        smooth *= part
        smooth *= 255.0
        smooth += 0.5
        return smooth.astype(np.uint8)

    def cut_out(self, image: ImageSource) -> Image.Image:
        """Return the picture as RGBA, in which only what was found is opaque.

        Raises:
            ImageError, InputError: the picture cannot be read, or has another size.
        """
        copy = copy_of(image, self.size)
        copy.putalpha(Image.fromarray(self.alpha))
        return copy

    def over(self, image: ImageSource, background: Background) -> Image.Image:
        """Return what was found on another background, RGB.

        Raises:
            ImageError: the picture, or that of the background, cannot be read.
            InputError: the picture has another size, or a text is neither ``blur`` nor a colour nor a file.
        """
        copy = copy_of(image, self.size)
        return Image.composite(copy, _behind(copy, background), Image.fromarray(self.alpha))

    def draw(self, image: ImageSource) -> Image.Image:
        """Return a copy of the picture in which what was found is tinted."""
        copy = copy_of(image, self.size)
        tint = Image.blend(copy, Image.new("RGB", copy.size, colour(1)), 0.5)
        return Image.composite(tint, copy, Image.fromarray(self.alpha))

    def as_json(self) -> dict[str, Any]:
        """Return how much of the picture it covers; the mask itself is a picture."""
        return {"score": round(self.score, 4), "share": round(self.share, 4), "present": self.present}


def ground(background: Background) -> tuple[int, int, int] | Image.Image | None:
    """Return what a background is: a colour, a picture, or None where it is the picture itself, blurred.

    Raises:
        ImageError: the picture cannot be read.
        InputError: a text is neither ``blur`` nor a colour nor a file.
    """
    if isinstance(background, str):
        if background == BLUR:
            return None
        try:
            red, green, blue = ImageColor.getrgb(background)[:3]
            return red, green, blue
        except ValueError:
            if not Path(background).exists():
                raise InputError(
                    f"background '{background}'; give blur, a colour (white, '#204080'), or a picture file"
                ) from None
    return preprocess.open_image(background)


def _behind(image: Image.Image, background: Background) -> Image.Image:
    found = ground(background)
    if found is None:
        return image.filter(ImageFilter.GaussianBlur(max(1.0, BLUR_SHARE * max(image.size))))
    if isinstance(found, tuple):
        return Image.new("RGB", image.size, found)
    return Image.fromarray(scaling.fit(found, CENTER_CROP, image.height, image.width))
