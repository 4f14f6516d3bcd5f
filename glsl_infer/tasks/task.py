"""Base class of tasks: a bundle on the GPU, postprocessing in NumPy, and a result that can draw itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from glsl_infer.bundle.manifest import PICTURE, Input
from glsl_infer.errors import InputError
from glsl_infer.gl.context import Context
from glsl_infer.gl.dma_buf import DmaBuf
from glsl_infer.runtime import sandbox_mode
from glsl_infer.runtime.classifier import Classifier
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.pictures.picture_input import TexturePicture
from glsl_infer.runtime.pictures.preprocess import ImageSource
from glsl_infer.runtime.pictures.scaling import fitted
from glsl_infer.runtime.session import Session
from glsl_infer.support.closing import Closing
from glsl_infer.support.near_names import did_you_mean
from glsl_infer.tasks import models, reading
from glsl_infer.tasks.description import (
    CLASSIFICATION,
    DETECTION,
    LANDMARKS,
    SEGMENTATION,
    ClassificationRules,
    Description,
)
from glsl_infer.tasks.results import Labels

Result = TypeVar("Result")
Outputs = Mapping[str, NDArray[np.float32]]
PictureSource = Union[ImageSource, TexturePicture, DmaBuf]
LoadedPicture = Union[NDArray[np.uint8], TexturePicture, DmaBuf]

_COMMANDS = {DETECTION: "detect", LANDMARKS: "landmarks", SEGMENTATION: "segment", CLASSIFICATION: "camera"}
"""A command for each kind of task. ``classify`` has no ``--task``."""


class Task(Closing, Generic[Result]):
    """A function that finds something in images. Use it as a context manager, or ``close`` it.

    Args:
        task: a description, the name of a packaged task, or a file; by default the task of the class.
        model: another bundle than that of the description.
        context: as for ``Session``; all sessions of a task share it.

    Attributes:
        description: the description.
        session: session of its bundle.

    Raises:
        InputError: the description is of another kind, or the model is not fetched yet or does not fit.
        As ``Session``.
    """

    kind: ClassVar[str]
    default: ClassVar[str | None] = None

    def __init__(
        self,
        task: Union[str, Path, Description, None] = None,
        *,
        model: Union[str, Path, None] = None,
        context: Union[str, Context] = "auto",
    ) -> None:
        task_or_default = self.default if task is None else task
        if task_or_default is None:
            raise InputError(f"{type(self).__name__} needs the name or the file of a task")
        self.description = (
            task_or_default
            if isinstance(task_or_default, Description)
            else reading.find(task_or_default, kind=self.kind)
        )
        source = self.description.source
        name = f"task '{source.stem}'" if source.parent == reading.FOLDER else str(source)
        if self.description.kind != self.kind:
            raise InputError(
                f"{name}: is a task for {self.description.kind}, not for {self.kind}; "
                f"use it with glsl-infer {_COMMANDS[self.description.kind]}"
            )
        path = Path(model) if model is not None else models.find(self.description.model, source)
        self.session = self._open(path, context)
        try:
            self._prepare()
        except InputError as error:
            self.close()
            advice = (
                "" if model is None else "; leave the model out to use that of the task, or give a task for this model"
            )
            raise InputError(f"{name}, with the model {path}: {error}{advice}") from None
        except BaseException:
            self.close()
            raise

    @property
    def sessions(self) -> tuple[Session, ...]:
        """All sessions of the task."""
        return (self.session,)

    @abstractmethod
    def __call__(self, picture: PictureSource) -> Result:
        """Return the result for an image: a path, a Pillow image, or a uint8 array (height, width[, 3 or 4]).

        An image on the GPU (``TexturePicture``, ``DmaBuf``) stays there.

        Raises:
            ImageError: the image cannot be read.
        """

    def follow(self, picture: PictureSource) -> Result:
        """Return the result for the next frame of a film; some tasks use the result of the previous frame."""
        return self(picture)

    def close(self) -> None:
        """Release the GPU's resources."""
        self.session.close()

    # Methods for subclasses

    def _open(self, path: Path, context: Union[str, Context]) -> Session:
        """Return the session of the bundle."""
        return Session(path, context=context, isolated=sandbox_mode.default() or "first")

    def _prepare(self) -> None:
        """Check the bundle, and prepare postprocessing.

        Raises:
            InputError: the bundle does not fit the description.
        """

    def _picture_input(self) -> Input:
        """Return the only input, an image.

        Raises:
            InputError: the model has another input.
        """
        model_input = self.session.bundle.manifest.input
        if model_input.kind != PICTURE:
            raise InputError(f"its input '{model_input.name}' takes numbers; a task needs a model that reads an image")
        return model_input

    def _output_shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an output.

        Raises:
            InputError: the output does not exist.
        """
        outputs = {output.name: output for output in self.session.bundle.manifest.outputs}
        if name not in outputs:
            raise InputError(f"no output '{name}'{did_you_mean(name, outputs)}; the model has {', '.join(outputs)}")
        return outputs[name].shape

    def _row_count(self, names: Sequence[str], columns: int) -> int:
        """Return the total number of rows of some outputs, with ``columns`` elements each.

        Raises:
            InputError: an output does not exist, or has an incomplete row.
        """
        rows = 0
        for name in names:
            elements = int(np.prod(self._output_shape(name)))
            if elements % columns:
                raise InputError(f"output '{name}' has {elements} numbers, not a multiple of {columns}")
            rows += elements // columns
        return rows

    def _run(self, picture: LoadedPicture) -> dict[str, NDArray[np.float32]]:
        """Return all outputs for a loaded image."""
        model_input = self.session.bundle.manifest.input
        input_value: Any = picture
        if isinstance(picture, np.ndarray) and model_input.channels != 3:
            input_value = preprocess.load_for(picture, model_input)
        return self.session.run({model_input.name: input_value})


def load_picture(picture: PictureSource) -> LoadedPicture:
    """Return an image as uint8 (height, width, 3), or unchanged if it is on the GPU.

    Raises:
        ImageError: the image cannot be read.
    """
    return picture if isinstance(picture, (TexturePicture, DmaBuf)) else pixels_of(picture)


def size_of(picture: LoadedPicture) -> tuple[int, int]:
    """Return width and height of a loaded image in pixels."""
    if isinstance(picture, np.ndarray):
        return picture.shape[1], picture.shape[0]
    return picture.width, picture.height


def pixels_of(picture: ImageSource) -> NDArray[np.uint8]:
    """Return an image as uint8 (height, width, 3).

    Raises:
        ImageError: the image cannot be read.
    """
    is_pixels = isinstance(picture, np.ndarray) and picture.dtype == np.uint8 and picture.ndim == 3
    if isinstance(picture, np.ndarray) and is_pixels and picture.shape[2] == 3 and 0 not in picture.shape:
        return picture
    return np.asarray(preprocess.open_image(picture), np.uint8)


def back_in_picture(model_input: Input, size: tuple[int, int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return factors and offsets that convert points relative to the network's input to pixels of the original image.

    Args:
        model_input: the input of the network.
        size: width and height of the image.

    Returns:
        (2,) each, for x and y: pixel = factor * point + offset.
    """
    rectangles = fitted(model_input.fit or "", *size, model_input.width, model_input.height)
    source, target = rectangles.source, rectangles.target
    scale = np.array([source.width / target.width, source.height / target.height])
    factors = np.array([model_input.width, model_input.height]) * scale
    return factors, np.array([source.left, source.top]) - np.array([target.left, target.top]) * scale


def concatenated_rows(outputs: Outputs, names: Sequence[str], columns: int) -> NDArray[np.float32]:
    """Return some outputs as rows of ``columns`` elements, concatenated."""
    parts = [outputs[name].reshape(-1, columns) for name in names]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class Labeller(Task[Labels]):
    """A ``Classifier`` whose result can draw itself."""

    kind = CLASSIFICATION

    def __call__(self, picture: PictureSource) -> Labels:
        """Return the most probable labels of an image; arguments and errors as for ``Task``."""
        loaded = load_picture(picture)
        rules = self.description.rules
        assert isinstance(rules, ClassificationRules)
        ranked = self._classifier.rank(self._run(loaded), rules.top)
        return Labels(tuple(ranked), size_of(loaded))

    def _open(self, path: Path, context: Union[str, Context]) -> Session:
        self._classifier = Classifier(path, context=context, isolated=sandbox_mode.default() or "first")
        return self._classifier.session
