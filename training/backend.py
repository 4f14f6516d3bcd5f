"""Keras with its backend, for the commands: TensorFlow, unless KERAS_BACKEND names another; without start-up messages.

    from training.backend import keras

    # isort: split

before anything that imports Keras. Where Keras or its backend is not installed or not known, that ends the process with
2 and a line that says what to do.
"""

from __future__ import annotations

import os
import sys

from glsl_infer.errors import InputError, MissingExtraError
from glsl_infer.importers.keras.quiet import stderr_silenced

__all__ = ["keras"]

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

try:
    with stderr_silenced():
        import keras

        keras.ops.zeros(1)  # looks for devices, and says so where there is no GPU
except ImportError as error:
    missing = MissingExtraError.of(f"Keras with a backend ({error})", "tensorflow pyyaml tqdm tensorboard", "training")
    print(f"error: {missing}", file=sys.stderr)
    sys.exit(missing.exit_code)
except ValueError as error:
    print(f"error: KERAS_BACKEND={os.environ['KERAS_BACKEND']}: {error}; take tensorflow or jax", file=sys.stderr)
    sys.exit(InputError.exit_code)
