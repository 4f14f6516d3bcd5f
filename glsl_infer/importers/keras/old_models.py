"""Models saved by Keras 2 (.keras, .h5) or TensorFlow.js (model.json), with their configuration as Keras 3's."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glsl_infer.errors import GlslInferError, ModelError
from glsl_infer.importers.keras import caution, keras2, tfjs
from glsl_infer.importers.keras.old_weights import Assignment, Named
from glsl_infer.support import json_text

_NEW = 3
"""The first version of Keras whose configurations do not need to be rewritten."""

_METADATA = "metadata.json"
_WEIGHTS = "model.weights.h5"
_H5 = (".h5", ".hdf5")


@dataclass(frozen=True)
class OldModel:
    """A file from a library other than Keras 3.

    Attributes:
        path: of the file.
        writer: the library and its version, such as ``Keras 2.15.0``.
        stored: the configuration of the model in the file.
        config: the same configuration in the format of Keras 3.
    """

    path: Path
    writer: str
    stored: dict[str, Any]
    config: dict[str, Any]

    def separate_weights(self) -> Named | None:
        """Return the weights if they are in separate files, as those of TensorFlow.js; else None.

        Raises:
            ModelError: a file is missing or invalid.
        """
        return tfjs.weights_of(self.path) if self.path.suffix.lower() == tfjs.SUFFIX else None

    def load_weights(self, model: Any, separate: Named | None) -> None:
        """Load the weights into a model that was built from ``config``.

        Args:
            model: the model.
            separate: result of ``separate_weights``.

        Raises:
            ModelError: the weights do not match the model.
        """
        assignment = Assignment(model)
        import h5py

        if separate is not None:
            assignment.by_names(separate)
        elif self.path.suffix.lower() in _H5:
            with h5py.File(self.path, "r") as root:
                assignment.by_layers(root.get("model_weights", root))
        else:
            with zipfile.ZipFile(self.path) as archive, h5py.File(io.BytesIO(archive.read(_WEIGHTS)), "r") as root:
                assignment.by_numbered_groups(root, self.stored["config"])
        assignment.finish()

    def cannot(self, error: Exception) -> ModelError:
        """Return the error for a file that cannot be read: the reason, and how to convert it."""
        cause: BaseException = error
        while cause.__context__ is not None and not isinstance(cause, GlslInferError):
            cause = cause.__context__  # Keras wraps the exception several times
        advised = advice(self.path) if self.path.suffix.lower() != tfjs.SUFFIX else _TFJS_ADVICE
        reason = str(cause).strip().splitlines()[0] if str(cause).strip() else type(cause).__name__
        if isinstance(cause, GlslInferError):
            reason = reason.removeprefix(f"{self.path}: ")
        return ModelError(
            f"{self.path}: saved by {self.writer}, and Keras 3 cannot build it ({reason:.300}); {advised}"
        )


_TFJS_ADVICE = (
    f"{tfjs.conversion_advice('tensorflowjs')}; tfjs/bin/tensorflowjs_converter --input_format=tfjs_layers_model "
    "--output_format=keras model.json model.h5"
)


def advice(path: Path) -> str:
    """Return instructions to convert a file of Keras 2 with the library that wrote it."""
    return (
        'convert it with pip install tf_keras, and python -c "import tensorflow as tf, tf_keras; model = '
        f"tf_keras.models.load_model('{path.name}'); open('{path.stem}.tflite', 'wb').write("
        'tf.lite.TFLiteConverter.from_keras_model(model).convert())"'
    )


def read(path: Path) -> OldModel | None:
    """Return the model of a file saved by Keras 2; None for any other file, including damaged ones.

    Raises:
        ModelError: Keras 2 saved the file, and its configuration cannot be rewritten.
    """
    try:
        if path.suffix.lower() == tfjs.SUFFIX:
            version, stored = tfjs.topology_of(path)
        elif zipfile.is_zipfile(path):
            version, stored = _of_zip(path)
        elif path.suffix.lower() in _H5:
            version, stored = _of_h5(path)
        else:
            return None
    except (OSError, KeyError, ValueError, RuntimeError, RecursionError, zipfile.BadZipFile):
        return None
    is_new = (_number(version) or 0) >= _NEW
    if is_new and path.suffix.lower() == tfjs.SUFFIX:
        return OldModel(path, f"Keras {version}", stored, stored)
    if is_new or not isinstance(stored, dict) or not isinstance(stored.get("config"), (dict, list)):
        return None
    writer = f"Keras {version}" if _number(version) else version or "an early version of Keras"
    unread = OldModel(path, writer, stored, {})
    try:
        config = keras2.rewritten(stored, path)
    except ModelError as error:
        raise unread.cannot(error) from None
    return OldModel(path, writer, stored, config)


def _number(version: str) -> int | None:
    match = re.match(r"\d+", version)
    return int(match[0]) if match else None


def _of_zip(path: Path) -> tuple[str, Any]:
    with zipfile.ZipFile(path) as archive:
        if archive.getinfo(caution.CONFIG).file_size > caution.MOST_CONFIG:
            return "3", None
        metadata = json_text.loads(archive.read(_METADATA))
        return str(metadata["keras_version"]), json_text.loads(archive.read(caution.CONFIG))


def _of_h5(path: Path) -> tuple[str, Any]:
    import h5py

    with h5py.File(path, "r") as root:
        if "model_config" not in root.attrs:
            return "3", None
        version = root.attrs.get("keras_version", "")
        version = version.decode() if isinstance(version, bytes) else str(version)
        return version, json_text.loads(root.attrs["model_config"])
