"""Import Keras and its backend for commands: TensorFlow unless KERAS_BACKEND is set, without start-up messages.

    # isort: split

must precede all other imports of Keras. If Keras or its backend is missing or unknown, the process exits with 2 and a
message with the command to install it.
"""

from __future__ import annotations

import os
import sys

from glsl_infer.errors import InputError, MissingExtraError
from glsl_infer.importers.keras.installed import stderr_silenced

__all__ = ["keras"]

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

try:
    with stderr_silenced():
        import keras

        keras.ops.zeros(1)  # initialises the devices, which logs a missing GPU
except ImportError as error:
    missing = MissingExtraError.of(f"Keras with a backend ({error})", "tensorflow pyyaml tqdm tensorboard", "training")
    print(f"error: {missing}", file=sys.stderr)
    sys.exit(missing.exit_code)
except ValueError as error:
    print(f"error: KERAS_BACKEND={os.environ['KERAS_BACKEND']}: {error}; take tensorflow or jax", file=sys.stderr)
    sys.exit(InputError.exit_code)
