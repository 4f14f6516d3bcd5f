"""Segmentation: which pixels belong to something."""

from __future__ import annotations

import numpy as np

from glsl_infer.errors import InputError
from glsl_infer.runtime.pictures.fits import fitted
from glsl_infer.tasks.boxes import SIGMOID, SOFTMAX
from glsl_infer.tasks.description import SEGMENTATION, SegmentationRules
from glsl_infer.tasks.masks import Mask
from glsl_infer.tasks.task import Given, Outputs, Task, size_of, usable


class Segmenter(Task[Mask]):
    """Finds the pixels of something by a network that ends in a mask."""

    kind = SEGMENTATION

    def __call__(self, picture: Given) -> Mask:
        """Return the mask of a picture; see ``Task``."""
        given = usable(picture)
        return self.mask(self._run(given), size_of(given))

    def _prepare(self) -> None:
        rules = self.description.rules
        assert isinstance(rules, SegmentationRules)
        self._rules, self._entry = rules, self._picture_input()
        shape = self._output_shape(rules.mask)
        if len(shape) not in (2, 3):
            raise InputError(f"output '{rules.mask}' has the shape {shape}; a mask is (height, width[, classes])")
        if len(shape) == 3 and rules.channel >= shape[2]:
            raise InputError(f"'channel' is {rules.channel}; output '{rules.mask}' has {shape[2]}, from 0 on")

    def mask(self, outputs: Outputs, size: tuple[int, int]) -> Mask:
        """Return what a network's numbers mean.

        Args:
            outputs: all of the bundle's, by name; another runner's of the same network will do.
            size: width and height of the picture in pixels.
        """
        rules, entry = self._rules, self._entry
        numbers = outputs[rules.mask].astype(np.float32)
        if numbers.ndim == 2:  # indices of classes, as argmax leaves them
            part = (numbers == rules.channel).astype(np.float32)
        elif rules.activation == SOFTMAX:
            powers = np.exp(numbers - numbers.max(axis=2, keepdims=True))
            part = powers[..., rules.channel] / powers.sum(axis=2)
        else:
            part = numbers[..., rules.channel]
            if rules.activation == SIGMOID:
                part = 1.0 / (1.0 + np.exp(-np.clip(part, -80.0, 80.0)))
        rows, columns = part.shape
        places = fitted(entry.fit or "", *size, entry.width, entry.height)
        source, target = places.source, places.target
        across, down = columns / entry.width, rows / entry.height
        box = (
            target.left * across,
            target.top * down,
            (target.left + target.width) * across,
            (target.top + target.height) * down,
        )
        inner = (source.left, source.top, source.left + source.width, source.top + source.height)
        return Mask(np.clip(np.nan_to_num(part), 0.0, 1.0).astype(np.float32), box, inner, rules.edge, size)
