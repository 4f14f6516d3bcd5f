"""From a picture to its most probable labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Union

import numpy as np

from glsl_infer.bundle import Bundle
from glsl_infer.errors import InputError
from glsl_infer.gl.context import Context
from glsl_infer.graph.host_steps import PROBABLE, softmax
from glsl_infer.runtime.isolation import Isolation
from glsl_infer.runtime.outputs import Results
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.pictures.picture_input import Picture
from glsl_infer.runtime.pictures.preprocess import ImageSource
from glsl_infer.runtime.pipeline import PendingFrame
from glsl_infer.runtime.session import Session
from glsl_infer.support.closing import Closing
from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.resources import default_model

NONE = "none of these"
"""What is answered below a threshold; models of ``glsl-infer train`` have a class of this label."""


@dataclass(frozen=True)
class Prediction:
    """One class: its label as it stands in labels.txt, its probability in [0, 1] and its index.

    Below a threshold the label is ``NONE``, the index -1, where no class has that label, and the probability what the
    best class leaves of 1.
    """

    label: str
    probability: float
    index: int


class Classifier(Closing):
    """Classifies pictures of any size and format. Use it as a context manager, or ``close`` it.

    Args:
        model: path of a ``.glslnn`` file or a bundle; by default the model that comes with the package.
        context, selfcheck, isolated: see ``Session``.
        threshold: where the best class is less probable, the first prediction is ``NONE``; from 0 to 1.

    Raises:
        InputError: the model has no output for classes, or more inputs than a picture; a threshold beyond [0, 1].
        As ``Session``.
    """

    def __init__(
        self,
        model: Union[str, Path, Bundle, None] = None,
        *,
        context: Union[str, Context] = "auto",
        selfcheck: bool = False,
        isolated: Isolation = False,
        threshold: float = 0.0,
    ) -> None:
        if not 0.0 <= threshold <= 1.0:
            raise InputError(f"threshold={threshold:g}; give a probability from 0 to 1")
        self.threshold = threshold
        model = default_model() if model is None else model
        self.session = Session(model, context=context, selfcheck=selfcheck, isolated=isolated)
        manifest, classes = self.session.bundle.manifest, self.session.bundle.manifest.classes
        try:
            self._input = manifest.input
            if classes is None:
                raise InputError("makes no classes and has no labels; use 'glsl-infer run'")
        except InputError as error:
            self.close()
            raise InputError(f"{self.session.bundle.path or 'the model'}: {error}") from None
        self._output = classes.name
        self._probable = bool(classes.steps) and classes.steps[-1].step in PROBABLE

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, in the order of the output for classes."""
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
            raise InputError(f"top={top}; give 1 or more")
        return self.rank(self.session.run({self._input.name: self._load(image)}), top)

    def start(self, image: ImageSource) -> PendingFrame[Results]:
        """Give the GPU a picture and return before it is classified; ``rank`` the frame's ``result()`` later.

        Raises:
            ImageError: the picture cannot be read.
        """
        return self.session.run_async({self._input.name: self._load(image)})

    def stream(self, pictures: Iterable[Picture]) -> Iterator[Results]:
        """Yield what ``rank`` takes for each picture, in order, while the GPU already computes the next one.

        Args:
            pictures: uint8 (height, width, 3) of any size, a ``TexturePicture`` or a ``DmaBuf``.

        Raises:
            ImageError: another shape or type; see ``Session.run``.
        """
        return self.session.stream({self._input.name: self._fitting(picture)} for picture in pictures)

    def _load(self, image: ImageSource) -> NDArray[np.uint8]:
        return preprocess.load_for(image, self._input)

    def _fitting(self, picture: Picture) -> Picture:
        """Return a picture with as many channels as the input; the session sees to its size."""
        if isinstance(picture, np.ndarray) and self._input.channels != 3:
            return self._load(picture)
        return picture

    def rank(self, result: NDArray[np.float32] | Mapping[str, NDArray[np.float32]], top: int = 5) -> list[Prediction]:
        """Return the ``top`` most probable classes; equal ones keep the order of the labels.

        Args:
            result: the numbers of the output for classes, or all outputs by name. They are probabilities where the
                output ends in a softmax or a sigmoid, and else get a softmax.
            top: how many.
        """
        numbers = np.asarray(result[self._output] if isinstance(result, Mapping) else result, np.float64)
        probabilities = numbers if self._probable else softmax(numbers)
        order = np.argsort(-probabilities, kind="stable")
        ranked = [Prediction(self.labels[index], float(probabilities[index]), int(index)) for index in order]
        best = next((entry for entry in ranked if entry.label != NONE), None)
        if best is not None and best.probability < self.threshold:
            own = next((entry for entry in ranked if entry.label == NONE), Prediction(NONE, 1.0 - best.probability, -1))
            ranked = [own, *(entry for entry in ranked if entry is not own)]
        return ranked[:top]

    def close(self) -> None:
        """Free the GPU's resources."""
        self.session.close()
