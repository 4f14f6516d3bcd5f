"""The part of a recipe about what becomes of pictures before they are learnt from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from glsl_infer.support.settings import Between, Settings

Share = Annotated[float, Between(0, 1)]
"""A share or a probability."""


@dataclass(frozen=True)
class Mixing(Settings):
    """Pictures in pairs, with their labels: blended (mixup), or a part of one pasted into the other (cutmix).

    Attributes:
        share: of the pictures that are mixed.
        alpha: both parameters of the beta distribution from which the proportion comes, above 0; small ones give
            mostly one picture, 1 any proportion alike.
    """

    share: Share = 0.0
    alpha: Annotated[float, Between(0, above=True)] = 1.0


@dataclass(frozen=True)
class Cutout(Settings):
    """A grey square in the picture.

    Attributes:
        share: of the pictures that get one.
        size: lowest and highest side of it, as a share of the picture's side.
    """

    share: Share = 0.0
    size: Annotated[tuple[float, float], Between(0, 1)] = (0.3, 0.5)


@dataclass(frozen=True)
class Augmentation(Settings):
    """Random variations of the training pictures.

    Attributes:
        flip: share of the pictures that are mirrored left to right.
        quarter_turns: turn every picture by 0, 90, 180 or 270 degrees: for things that have no up.
        rotation: largest turn either way, 0 to 180 degrees.
        scale: lowest and highest side of the window that is seen, relative to the picture's; 0.1 to 4.
        translation: largest shift either way, as a share of the picture's side.
        perspective: largest tilt about either axis, 0 to 60 degrees.
        gamma: of the exponent, how far its natural logarithm is from 0 at most; 0 to 2.
        hue: largest turn of the colours either way, 0 to 180 degrees.
        saturation: factor of the colours' strength, at most this far from 1; 0 to 1.
        brightness: added or taken away at most, as a share of white; 0 to 1.
        contrast: factor about middle grey, at most this far from 1; 0 to 1.
        tint: of the factor of each colour channel, how far its natural logarithm is from 0 at most: lamps and white
            balances differ; 0 to 1.
        blur: share of the pictures that are blurred, from not at all to a good 1 % of their side.
        mixup: blending of two pictures.
        cutmix: pasting a part of one picture into another; a picture gets one of the two at most.
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
        """Return what does not go together, in words, or None."""
        if self.mixup.share + self.cutmix.share > 1:
            return (
                f"mixup.share {self.mixup.share:g} and cutmix.share {self.cutmix.share:g} are more than 1 together; "
                "a picture is mixed in one way at most"
            )
        return None
