"""Result of a segmentation: a mask that can cut out the object, or compose it with another background."""

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
from glsl_infer.support.near_names import did_you_mean
from glsl_infer.tasks.drawing import colour, copy_of

BLUR = "blur"
BLUR_SHARE = 0.02
"""Radius of the blur, relative to the image's longer side."""

_PRESENT = 0.005
"""Smallest share of an image with which an object counts as present."""

_SCORE = 0.5
"""Smallest score of a mask with which an object counts as present.

docs/engineering/tasks.md has the shares of photographs with people and with other things above it.
"""

_SURE, _DOUBTED = 0.9, 0.1
"""Mask values above which a pixel counts as certain, and as possible."""

Background = Union[str, Path, Image.Image, NDArray[np.uint8]]
"""``blur``, a colour by Pillow's names (``white``, ``#204080``), or an image or its file."""


@dataclass(frozen=True, eq=False)
class Mask:
    """Share of each pixel that belongs to the object.

    Attributes:
        part: output of the network, float32 (rows, columns), 0 to 1.
        box: left, top, right and bottom of the image within ``part``, in elements.
        inner: the same rectangle in pixels of the image. The mask is 0 outside.
        edge: values between which the edge is soft.
        size: width and height of the image in pixels.
        both_ways: mean of ``part`` and the output for the mirrored image, for the score; None if that was not computed.
    """

    part: NDArray[np.float32]
    box: tuple[float, float, float, float]
    inner: tuple[int, int, int, int]
    edge: tuple[float, float]
    size: tuple[int, int]
    both_ways: NDArray[np.float32] | None = None

    @cached_property
    def values(self) -> NDArray[np.float32]:
        """Mask of all pixels, float32 (height, width) of the image."""
        left, top, right, bottom = self.inner
        inside = Image.fromarray(self.part).resize(
            (right - left, bottom - top), Image.Resampling.BILINEAR, box=self.box
        )
        values = np.zeros((self.size[1], self.size[0]), np.float32)
        values[top:bottom, left:right] = np.asarray(inside)
        return values

    @property
    def share(self) -> float:
        """Covered share of the image, 0 to 1."""
        return float(self.alpha.mean() / 255.0)

    @cached_property
    def score(self) -> float:
        """Confidence in the mask, 0 to 1: the number of certain pixels relative to that of possible ones.

        A pixel is certain if the network includes it in the image and in the mirrored image.
        """
        values = self.part if self.both_ways is None else self.both_ways
        certain, possible = (int(np.count_nonzero(values > least)) for least in (_SURE, _DOUBTED))
        return certain / max(possible, 1)

    @property
    def present(self) -> bool:
        """True if it covers a relevant share, and its score is sufficient."""
        return self.score >= _SCORE and self.share > _PRESENT

    @cached_property
    def alpha(self) -> NDArray[np.uint8]:
        """Opacity with a smooth edge, uint8 (height, width)."""
        low, high = self.edge
        opacity = self.values - low
        opacity /= high - low
        np.clip(opacity, 0.0, 1.0, out=opacity)
        smooth = opacity * opacity  # smoothstep, in place: a large photograph has 400 MB of values
        opacity *= -2.0
        opacity += 3.0
        smooth *= opacity
        smooth *= 255.0
        smooth += 0.5
        return smooth.astype(np.uint8)

    def cut_out(self, image: ImageSource) -> Image.Image:
        """Return the image as RGBA, opaque only where the object is.

        Raises:
            ImageError, InputError: the image cannot be read, or has another size.
        """
        copy = copy_of(image, self.size)
        copy.putalpha(Image.fromarray(self.alpha))
        return copy

    def over(self, image: ImageSource, background: Background) -> Image.Image:
        """Return the object on another background, RGB.

        Raises:
            ImageError: the image or the background cannot be read.
            InputError: the image has another size, or the background is neither ``blur`` nor a colour nor a file.
        """
        image_copy = copy_of(image, self.size)
        return Image.composite(image_copy, _background_image(image_copy, background), Image.fromarray(self.alpha))

    def draw(self, image: ImageSource) -> Image.Image:
        """Return a copy of the image in which the object is tinted."""
        copy = copy_of(image, self.size)
        tint = Image.blend(copy, Image.new("RGB", copy.size, colour(1)), 0.5)
        return Image.composite(tint, copy, Image.fromarray(self.alpha))

    def as_json(self) -> dict[str, Any]:
        """Return score, covered share and presence. The mask itself is an image."""
        return {"score": round(self.score, 4), "share": round(self.share, 4), "present": self.present}


def ground(background: Background) -> tuple[int, int, int] | Image.Image | None:
    """Return the colour or image of a background; None for the blurred image itself.

    Raises:
        ImageError: the image cannot be read.
        InputError: the text is neither ``blur`` nor a colour nor a file.
    """
    if isinstance(background, str):
        if background == BLUR:
            return None
        try:
            red, green, blue = ImageColor.getrgb(background)[:3]
            return red, green, blue
        except ValueError:
            file = Path(background)
            if not file.exists():
                problem = f"{background}: no such file"
                if not file.suffix and len(file.parts) == 1:
                    problem = f"'{background}' is not a colour{did_you_mean(background, (BLUR, *ImageColor.colormap))}"
                raise InputError(
                    f"{problem}; as the background, give blur, a colour (white, '#204080'), or an image file"
                ) from None
    return preprocess.open_image(background)


def _background_image(image: Image.Image, background: Background) -> Image.Image:
    ground_ = ground(background)
    if ground_ is None:
        return image.filter(ImageFilter.GaussianBlur(max(1.0, BLUR_SHARE * max(image.size))))
    if isinstance(ground_, tuple):
        return Image.new("RGB", image.size, ground_)
    return Image.fromarray(scaling.fit(ground_, CENTER_CROP, image.height, image.width))
