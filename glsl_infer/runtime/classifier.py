"""From a picture to its most probable labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Union

import numpy as np
from numpy.typing import NDArray

from glsl_infer.bundle import Bundle
from glsl_infer.errors import InputError
from glsl_infer.gl.context import Context
from glsl_infer.graph.host_steps import softmax
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.pictures.preprocess import ImageSource
from glsl_infer.runtime.pipeline import PendingFrame
from glsl_infer.runtime.session import Session
from glsl_infer.support.closing import Closing
from glsl_infer.support.resources import default_model


@dataclass(frozen=True)
class Prediction:
    """One class: its label as it stands in labels.txt, its probability in [0, 1] and its index."""

    label: str
    probability: float
    index: int


class Classifier(Closing):
    """Classifies pictures of any size and format. Use it as a context manager, or ``close`` it.

    Args:
        model: path of a ``.glslnn`` file or a bundle; by default the model that comes with the package.
        context, selfcheck: see ``Session``.

    Raises:
        InputError: the model has no labels, for it ends in an image.
        As ``Session``.
    """

    def __init__(
        self,
        model: Union[str, Path, Bundle, None] = None,
        *,
        context: Union[str, Context] = "auto",
        selfcheck: bool = False,
    ) -> None:
        self.session = Session(default_model() if model is None else model, context=context, selfcheck=selfcheck)
        if not self.labels:
            self.close()
            path = self.session.bundle.path or "the model"
            raise InputError(f"{path} makes images and has no labels; use 'glsl-infer run'")

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, in the order of the logits."""
        return self.session.bundle.labels

    def classify(self, image: ImageSource, top: int = 5) -> list[Prediction]:
        """Return the ``top`` most probable classes, best first (all of them where there are fewer).

        Args:
            image: a path, a Pillow image, or a uint8 array (height, width[, 3 or 4]).
            top: how many, at least 1.

        Raises:
            ImageError: the picture cannot be read.
            InputError: ``top`` is below 1.
        """
        if top < 1:
            raise InputError(f"top={top}; at least 1 is possible")
        return self.rank(self.session.run(self._load(image)), top)

    def start(self, image: ImageSource) -> PendingFrame:
        """Give the GPU a picture and return before it is classified; ``rank`` the frame's ``result()`` later.

        Raises:
            ImageError: the picture cannot be read.
        """
        return self.session.run_async(self._load(image))

    def _load(self, image: ImageSource) -> NDArray[np.uint8]:
        return preprocess.load(image, self.session.bundle.manifest.input.size)

    def rank(self, logits: NDArray[np.float32], top: int = 5) -> list[Prediction]:
        """Return the ``top`` classes of some logits; equal ones keep the order of the labels."""
        probabilities = softmax(logits.astype(np.float64))
        order = np.argsort(-probabilities, kind="stable")[:top]
        return [Prediction(self.labels[index], float(probabilities[index]), int(index)) for index in order]

    def close(self) -> None:
        """Free the GPU's resources."""
        self.session.close()
