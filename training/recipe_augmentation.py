"""Augmentation settings of a recipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from glsl_infer.support.settings import Between, Settings

Share = Annotated[float, Between(0, 1)]
"""A share or a probability."""


@dataclass(frozen=True)
class Mixing(Settings):
    """Mixing of image pairs and their labels: blending (mixup), or pasting a part of one into the other (cutmix).

    Attributes:
        share: share of mixed images.
        alpha: both parameters of the beta distribution of the proportion, above 0; small values give mostly one image,
            1 a uniform distribution.
    """

    share: Share = 0.0
    alpha: Annotated[float, Between(0, above=True)] = 1.0


@dataclass(frozen=True)
class Cutout(Settings):
    """A grey square in the image.

    Attributes:
        share: share of images with a square.
        size: smallest and largest side, relative to the image's side.
    """

    share: Share = 0.0
    size: Annotated[tuple[float, float], Between(0, 1)] = (0.3, 0.5)


@dataclass(frozen=True)
class Augmentation(Settings):
    """Random augmentation of the training images.

    Attributes:
        flip: share of horizontally mirrored images.
        quarter_turns: rotate all images by 0, 90, 180 or 270 degrees, for objects without an up direction.
        rotation: largest rotation in both directions, 0 to 180 degrees.
        scale: smallest and largest side of the visible window, relative to the image's; 0.1 to 4.
        translation: largest shift in both directions, relative to the image's side.
        perspective: largest tilt about both axes, 0 to 60 degrees.
        gamma: largest absolute natural logarithm of the exponent; 0 to 2.
        hue: largest rotation of the hue in both directions, 0 to 180 degrees.
        saturation: largest difference of the saturation factor from 1; 0 to 1.
        brightness: largest addition or subtraction, relative to white; 0 to 1.
        contrast: largest difference from 1 of the contrast factor about middle grey; 0 to 1.
        tint: largest absolute natural logarithm of the factor of a colour channel, for different lamps and white
            balances; 0 to 1.
        blur: share of blurred images; the blur is up to about 1 % of their side.
        mixup: blending of two images.
        cutmix: pasting a part of one image into another; an image gets at most one of mixup and cutmix.
        cutout: a grey square.
    """

    flip: Share = 0.5
    quarter_turns: bool = False
    rotation: Annotated[float, Between(0, 180)] = 15.0
    scale: Annotated[tuple[float, float], Between(0.1, 4)] = (0.8, 1.1)
    translation: Share = 0.05
    perspective: Annotated[float, Between(0, 60)] = 0.0
    gamma: Annotated[float, Between(0, 2)] = 0.0
    hue: Annotated[float, Between(0, 180)] = 0.0
    saturation: Share = 0.1
    brightness: Share = 0.1
    contrast: Share = 0.2
    tint: Share = 0.0
    blur: Share = 0.0
    mixup: Mixing = Mixing(alpha=0.4)
    cutmix: Mixing = Mixing(alpha=1.0)
    cutout: Cutout = Cutout()

    def conflict(self) -> str | None:
        """Return a description of options that exclude each other, or None."""
        if self.mixup.share + self.cutmix.share > 1:
            return (
                f"mixup.share {self.mixup.share:g} and cutmix.share {self.cutmix.share:g} are more than 1 together; "
                "an image is mixed in one way at most"
            )
        return None
