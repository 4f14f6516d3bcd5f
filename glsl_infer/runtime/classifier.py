"""Classification of pictures: from a picture to its most probable labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Union

import numpy as np

from glsl_infer.bundle import Bundle
from glsl_infer.bundle.manifest import Output
from glsl_infer.errors import InputError
from glsl_infer.gl.context import Context
from glsl_infer.graph.host_steps import PROBABLE, softmax
from glsl_infer.runtime import none_of_these
from glsl_infer.runtime.none_of_these import NONE, NoneRule
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.pictures.picture_input import Picture
from glsl_infer.runtime.pictures.preprocess import ImageSource
from glsl_infer.runtime.pipeline import PendingFrame
from glsl_infer.runtime.session import Session
from glsl_infer.runtime.transfers import Results
from glsl_infer.support.closing import Closing
from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.plain_text import one_line
from glsl_infer.support.records import dataclass
from glsl_infer.support.resources import default_model

if TYPE_CHECKING:
    from glsl_infer.runtime.sandbox_mode import SandboxMode

_MAJORITY = 0.5


@dataclass(frozen=True)
class Prediction:
    """One class: its label as in labels.txt, its probability in [0, 1] and its index.

    If the picture belongs to none of the classes, the first label is ``NONE``. Its index is -1 unless a class has this
    label.
    """

    label: str
    probability: float
    index: int

    def __str__(self) -> str:
        return f"{100 * self.probability:6.2f} %  {one_line(self.label)}"


def is_probable(output: Output) -> bool:
    """Return whether ``Session.run`` returns an output for classes as probabilities instead of logits."""
    return bool(output.steps) and output.steps[-1].step in PROBABLE


def probabilities(numbers: NDArray[np.floating], output: Output) -> NDArray[np.float64]:
    """Return the probabilities of an output for classes, float64 (classes,).

    Args:
        numbers: the output of ``Session.run``. Unless the output ends in a softmax or a sigmoid, these are logits, and
            export has removed the softmax, which is applied here.
        output: its entry in the manifest.
    """
    values: NDArray[np.float64] = np.asarray(numbers, np.float64)
    return values if is_probable(output) else np.asarray(softmax(values), np.float64)


def predictions(
    numbers: NDArray[np.floating],
    output: Output,
    labels: Sequence[str],
    top: int,
    *,
    threshold: float = 0.0,
    none_rule: NoneRule | None = None,
) -> list[Prediction]:
    """Return the ``top`` most probable classes, best first; equal ones keep the order of the labels.

    Args:
        numbers: the output of ``Session.run``.
        output: its entry in the manifest.
        labels: of the bundle.
        top: the number of predictions.
        threshold: see ``Classifier``.
        none_rule: if a class with the logit of this rule is more probable than all others together, it is the first
            prediction, ``NONE``.
    """
    if none_rule is not None and not is_probable(output):
        logits = np.asarray(numbers, np.float64)
        extended = np.asarray(softmax(np.append(logits, none_rule.logit_of(logits))), np.float64)
        if extended[-1] > _MAJORITY:
            return _ranked(extended, (*labels, NONE), {len(labels): -1})[:top]
    values = probabilities(numbers, output)
    ranked = _ranked(values, labels, {})
    best = next((prediction for prediction in ranked if prediction.label != NONE), None)
    if best is not None and best.probability < threshold:
        none = next(
            (prediction for prediction in ranked if prediction.label == NONE),
            Prediction(NONE, 1.0 - best.probability, -1),
        )
        ranked = [none, *(prediction for prediction in ranked if prediction is not none)]
    return ranked[:top]


def _ranked(values: NDArray[np.float64], labels: Sequence[str], indices: Mapping[int, int]) -> list[Prediction]:
    """Return all predictions, best first; ``indices`` replaces the position of a label as its index."""
    order = [int(index) for index in np.argsort(-values, kind="stable")]
    return [Prediction(labels[index], float(values[index]), indices.get(index, index)) for index in order]


class Classifier(Closing):
    """Classifies pictures of any size and format. Use it as a context manager, or ``close`` it.

    Args:
        model: path of a ``.glslnn`` file or a bundle; by default the model of the package.
        context, selfcheck, isolated: see ``Session``.
        threshold: if the best class is less probable, the first prediction is ``NONE``; from 0 (always a class) to 1.
            Default: the model's own rule if it has one (``none_of_these``), else 0.

    Raises:
        InputError: the model has no output for classes, or more inputs than a picture; or the threshold is outside
            [0, 1].
        As ``Session``.
    """

    def __init__(
        self,
        model: Union[str, Path, Bundle, None] = None,
        *,
        context: Union[str, Context] = "auto",
        selfcheck: bool = False,
        isolated: SandboxMode | None = None,
        threshold: float | None = None,
    ) -> None:
        if threshold is not None and not 0.0 <= threshold <= 1.0:
            raise InputError(f"threshold={threshold:g}; give a probability from 0 to 1")
        self.threshold = threshold or 0.0
        model = default_model() if model is None else model
        self.session = Session(model, context=context, selfcheck=selfcheck, isolated=isolated)
        manifest, classes = self.session.bundle.manifest, self.session.bundle.manifest.classes
        try:
            self._input = manifest.input
            if classes is None:
                raise InputError("is not a classifier: none of its outputs has classes; use glsl-infer run")
        except InputError as error:
            self.close()
            raise InputError(f"{self.session.bundle.path or 'the model'}: {error}") from None
        self._output = classes
        self._none_rule = none_of_these.rule_of(self.session.bundle) if threshold is None else None

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, in the order of the output for classes."""
        return self.session.bundle.labels

    def classify(self, image: ImageSource, top: int = 5) -> list[Prediction]:
        """Return the ``top`` most probable classes, best first, or all if there are fewer.

        Args:
            image: a path, a Pillow image, or a uint8 array (height, width[, 3 or 4]).
            top: the number of predictions, at least 1.

        Raises:
            ImageError: the picture cannot be read.
            InputError: ``top`` is below 1.
        """
        if top < 1:
            raise InputError(f"top={top}; give 1 or more")
        return self.rank(self.session.run({self._input.name: self._load(image)}), top)

    def start(self, image: ImageSource) -> PendingFrame[Results]:
        """Start a picture on the GPU and return at once; pass the frame's ``result()`` to ``rank`` later.

        Raises:
            ImageError: the picture cannot be read.
        """
        return self.session.run_async({self._input.name: self._load(image)})

    def stream(self, pictures: Iterable[Picture]) -> Iterator[Results]:
        """Yield the argument of ``rank`` for each picture, in order, while the GPU already computes the next one.

        Args:
            pictures: uint8 (height, width, 3) of any size, a ``TexturePicture`` or a ``DmaBuf``.

        Raises:
            ImageError: a picture has another shape or type; see ``Session.run``.
        """
        return self.session.stream({self._input.name: self._fitting(picture)} for picture in pictures)

    def _load(self, image: ImageSource) -> NDArray[np.uint8]:
        return preprocess.load_for(image, self._input)

    def _fitting(self, picture: Picture) -> Picture:
        """Return a picture with the number of channels of the input; the session adjusts its size."""
        if isinstance(picture, np.ndarray) and self._input.channels != 3:
            return self._load(picture)
        return picture

    def rank(self, result: NDArray[np.float32] | Mapping[str, NDArray[np.float32]], top: int = 5) -> list[Prediction]:
        """Return the ``top`` most probable classes; equal ones keep the order of the labels.

        Args:
            result: the output for classes, or all outputs by name, as ``Session.run`` returns them.
            top: the number of predictions.
        """
        numbers = result[self._output.name] if isinstance(result, Mapping) else result
        return predictions(numbers, self._output, self.labels, top, threshold=self.threshold, none_rule=self._none_rule)

    def close(self) -> None:
        """Free the GPU's resources."""
        self.session.close()
