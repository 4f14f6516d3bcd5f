"""Segmentation: the pixels that belong to an object."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glsl_infer.errors import InputError
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.pictures.scaling import fitted
from glsl_infer.tasks.boxes import SIGMOID, SOFTMAX
from glsl_infer.tasks.description import SEGMENTATION, SegmentationRules
from glsl_infer.tasks.masks import Mask
from glsl_infer.tasks.task import Outputs, PictureSource, Task, load_picture, size_of


class Segmenter(Task[Mask]):
    """Finds the pixels of an object with a network whose output is a mask."""

    kind = SEGMENTATION

    def __call__(self, picture: PictureSource) -> Mask:
        """Return the mask of an image; arguments and errors as for ``Task``.

        If the object seems to be present, the network also reads the mirrored image, for the score. Images on the GPU
        are not mirrored.
        """
        loaded = load_picture(picture)
        mask = self.follow(loaded)
        if not mask.present or not isinstance(loaded, np.ndarray):
            return mask
        pixels = preprocess.load_for(loaded, self._model_input)
        mirrored = self.follow(np.ascontiguousarray(pixels[:, ::-1]))
        return replace(mask, both_ways=(mask.part + mirrored.part[:, ::-1]) * np.float32(0.5))

    def follow(self, picture: PictureSource) -> Mask:
        """Return the mask of the next frame of a film: as ``__call__``, without the mirrored image."""
        loaded = load_picture(picture)
        return self.mask(self._run(loaded), size_of(loaded))

    def _prepare(self) -> None:
        rules = self.description.rules
        assert isinstance(rules, SegmentationRules)
        self._rules, self._model_input = rules, self._picture_input()
        shape = self._output_shape(rules.mask)
        if len(shape) not in (2, 3):
            raise InputError(f"output '{rules.mask}' has the shape {shape}; a mask is (height, width[, classes])")
        if len(shape) == 3 and rules.channel >= shape[2]:
            raise InputError(f"'channel' is {rules.channel}; output '{rules.mask}' has {shape[2]}, from 0 on")

    def mask(self, outputs: Outputs, size: tuple[int, int]) -> Mask:
        """Convert outputs of the network to a mask.

        Args:
            outputs: all outputs of the bundle by name, also those of another runner.
            size: width and height of the image in pixels.
        """
        rules, model_input = self._rules, self._model_input
        logits = outputs[rules.mask].astype(np.float32)
        if logits.ndim == 2:  # class indices of an argmax
            class_mask = (logits == rules.channel).astype(np.float32)
        elif rules.activation == SOFTMAX:
            powers = np.exp(logits - logits.max(axis=2, keepdims=True))
            class_mask = powers[..., rules.channel] / powers.sum(axis=2)
        else:
            class_mask = logits[..., rules.channel]
            if rules.activation == SIGMOID:
                class_mask = 1.0 / (1.0 + np.exp(-np.clip(class_mask, -80.0, 80.0)))
        rows, columns = class_mask.shape
        rectangles = fitted(model_input.fit or "", *size, model_input.width, model_input.height)
        source, target = rectangles.source, rectangles.target
        across, down = columns / model_input.width, rows / model_input.height
        box = (
            target.left * across,
            target.top * down,
            (target.left + target.width) * across,
            (target.top + target.height) * down,
        )
        inner = (source.left, source.top, source.left + source.width, source.top + source.height)
        return Mask(np.clip(np.nan_to_num(class_mask), 0.0, 1.0).astype(np.float32), box, inner, rules.edge, size)
