"""Keras itself: imported on first use, and quietly."""

from __future__ import annotations

import os
from typing import Any

from glsl_infer.errors import InputError, MissingExtraError
from glsl_infer.importers.keras.quiet import stderr_silenced
from glsl_infer.support import llvm_clash


def keras() -> Any:
    """Import Keras and our layers, quietly, with TensorFlow behind it unless another backend is chosen."""
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if (
        not llvm_clash.tensorflow_loaded()
        and llvm_clash.mesa_llvm_loaded()
        and os.environ["KERAS_BACKEND"] == "tensorflow"
    ):
        raise InputError(llvm_clash.ADVICE)
    try:
        with stderr_silenced():
            import keras as installed

            from glsl_infer.importers.keras import layers as keras_layers  # noqa: F401
    except ImportError as error:
        raise MissingExtraError.of(f"Keras with a backend ({error})", "tensorflow", "exporting a Keras model") from None
    return installed
