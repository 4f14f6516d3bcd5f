"""A task: a bundle on the GPU, the steps behind it in NumPy, and a result that draws itself."""

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
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.pictures.fits import fitted
from glsl_infer.runtime.pictures.picture_input import TexturePicture
from glsl_infer.runtime.pictures.preprocess import ImageSource
from glsl_infer.runtime.session import Session
from glsl_infer.support.closing import Closing
from glsl_infer.support.near_names import did_you_mean
from glsl_infer.tasks import models, reading
from glsl_infer.tasks.description import Description

Result = TypeVar("Result")
Outputs = Mapping[str, NDArray[np.float32]]
Given = Union[ImageSource, TexturePicture, DmaBuf]
Usable = Union[NDArray[np.uint8], TexturePicture, DmaBuf]


class Task(Closing, Generic[Result]):
    """What finds something in pictures. Use it as a context manager, or ``close`` it.

    Args:
        task: a description, the name of one that comes with the package, or a file of your own; by default the one
            that the class is for.
        model: another bundle than the description names.
        context: see ``Session``; all sessions of a task share it.

    Attributes:
        description: what it does.
        session: of its own bundle.

    Raises:
        InputError: a description of another kind, a model that is not fetched yet, or one that does not fit.
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
        given = self.default if task is None else task
        if given is None:
            raise InputError(f"{type(self).__name__} needs the name or the file of a task")
        self.description = given if isinstance(given, Description) else reading.find(given)
        if self.description.kind != self.kind:
            raise InputError(f"{self.description.source}: is a task for {self.description.kind}, not for {self.kind}")
        path = Path(model) if model is not None else models.find(self.description.model, self.description.source)
        self.session = self._open(path, context)
        try:
            self._prepare()
        except InputError as error:
            self.close()
            raise InputError(f"{self.description.source}, with the model {path}: {error}") from None
        except BaseException:
            self.close()
            raise

    @property
    def sessions(self) -> tuple[Session, ...]:
        """All sessions that it draws with."""
        return (self.session,)

    @abstractmethod
    def __call__(self, picture: Given) -> Result:
        """Return what is in a picture: a path, a Pillow image, or a uint8 array (height, width[, 3 or 4]).

        One that is on the GPU already (``TexturePicture``, ``DmaBuf``) stays there.

        Raises:
            ImageError: it cannot be read.
        """

    def follow(self, picture: Given) -> Result:
        """Return what is in the next frame of a film; tasks that can use what they found in the one before do."""
        return self(picture)

    def close(self) -> None:
        """Free the GPU's resources."""
        self.session.close()

    # For tasks ---------------------------------------------------------------------------------------

    def _open(self, path: Path, context: Union[str, Context]) -> Session:
        """Return the session of the bundle."""
        return Session(path, context=context, isolated="first")

    def _prepare(self) -> None:
        """Look at the bundle once it is there.

        Raises:
            InputError: it does not fit the description.
        """

    def _picture_input(self) -> Input:
        """Return the only input, a picture.

        Raises:
            InputError: the model reads something else.
        """
        entry = self.session.bundle.manifest.input
        if entry.kind != PICTURE:
            raise InputError(f"its input '{entry.name}' takes numbers; a task needs a model that reads a picture")
        return entry

    def _output_shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an output.

        Raises:
            InputError: there is none of that name.
        """
        outputs = {output.name: output for output in self.session.bundle.manifest.outputs}
        if name not in outputs:
            raise InputError(
                f"there is no output '{name}'{did_you_mean(name, outputs)}; the model has {', '.join(outputs)}"
            )
        return outputs[name].shape

    def _rows(self, names: Sequence[str], columns: int) -> int:
        """Return how many rows of ``columns`` numbers some outputs have together.

        Raises:
            InputError: there is no such output, or its numbers are no whole rows.
        """
        rows = 0
        for name in names:
            numbers = int(np.prod(self._output_shape(name)))
            if numbers % columns:
                raise InputError(f"output '{name}' has {numbers} numbers, which are no rows of {columns}")
            rows += numbers // columns
        return rows

    def _run(self, picture: Usable) -> dict[str, NDArray[np.float32]]:
        """Return all outputs for what ``usable`` returned."""
        entry = self.session.bundle.manifest.input
        given: Any = picture
        if isinstance(picture, np.ndarray) and entry.channels != 3:
            given = preprocess.load_for(picture, entry)
        return self.session.run({entry.name: given})


def usable(picture: Given) -> Usable:
    """Return a picture as uint8 (height, width, 3), or as it is where it is on the GPU.

    Raises:
        ImageError: it cannot be read.
    """
    return picture if isinstance(picture, (TexturePicture, DmaBuf)) else pixels_of(picture)


def size_of(picture: Usable) -> tuple[int, int]:
    """Return its width and height in pixels."""
    if isinstance(picture, np.ndarray):
        return picture.shape[1], picture.shape[0]
    return picture.width, picture.height


def pixels_of(picture: ImageSource) -> NDArray[np.uint8]:
    """Return a picture as uint8 (height, width, 3).

    Raises:
        ImageError: it cannot be read.
    """
    plain = isinstance(picture, np.ndarray) and picture.dtype == np.uint8 and picture.ndim == 3
    if isinstance(picture, np.ndarray) and plain and picture.shape[2] == 3 and 0 not in picture.shape:
        return picture
    return np.asarray(preprocess.open_image(picture), np.uint8)


def back_in_picture(entry: Input, size: tuple[int, int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return factors and offsets that take parts of the network's picture to pixels of one that was fitted to it.

    Args:
        entry: the input of the network.
        size: width and height of the picture.

    Returns:
        (2,) each, for x and y: pixel = factor * part + offset.
    """
    places = fitted(entry.fit or "", *size, entry.width, entry.height)
    source, target = places.source, places.target
    scale = np.array([source.width / target.width, source.height / target.height])
    factors = np.array([entry.width, entry.height]) * scale
    return factors, np.array([source.left, source.top]) - np.array([target.left, target.top]) * scale


def joined(outputs: Outputs, names: Sequence[str], columns: int) -> NDArray[np.float32]:
    """Return some outputs as rows of ``columns`` numbers, one after the other."""
    parts = [outputs[name].reshape(-1, columns) for name in names]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
