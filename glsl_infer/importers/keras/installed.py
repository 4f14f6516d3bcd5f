"""The installed Keras, imported on first use and without TensorFlow's start-up messages."""

from __future__ import annotations

import atexit
import gc
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from glsl_infer.errors import InputError, MissingExtraError, pip_install
from glsl_infer.support import llvm_clash
from glsl_infer.support.memory import no_collection


@contextmanager
def stderr_silenced() -> Iterator[None]:
    """Discard the process's standard error inside the context.

    TensorFlow's C++ libraries write there before their log levels apply: several lines about oneDNN and missing CUDA
    drivers, which look like errors. Actual errors still raise exceptions.
    """
    try:
        number = sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):  # standard error is not a real file: nothing to silence
        yield
        return
    sys.stderr.flush()
    saved = os.dup(number)
    try:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), number)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(saved, number)
        os.close(saved)


OLDEST = (3, 9)
"""The first version in which a config cannot name a function of any module."""


@cache
def keras() -> Any:
    """Import Keras and the engine's layers without start-up messages. The default backend is TensorFlow.

    Raises:
        InputError: ``KERAS_BACKEND`` has an unknown name, or TensorFlow would crash with the loaded GPU driver.
        MissingExtraError: Keras or its backend is not installed.
    """
    backend = os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if not llvm_clash.tensorflow_loaded() and llvm_clash.mesa_llvm_loaded() and backend == "tensorflow":
        raise InputError(llvm_clash.ADVICE)
    try:
        with stderr_silenced(), no_collection():
            import keras as installed

            from glsl_infer.importers.keras import layers, tensorflow_calls  # noqa: F401
    except (ImportError, ValueError) as error:
        if backend != "tensorflow" and getattr(error, "name", None) != "keras":
            raise InputError(
                f"KERAS_BACKEND={backend}: Keras cannot be imported with it ({error}); give tensorflow, jax, torch or "
                "numpy, whichever is installed"
            ) from None
        raise MissingExtraError.of(
            f"Keras with TensorFlow or another backend ({error})", "tensorflow", "reading a Keras model"
        ) from None
    atexit.register(gc.freeze)  # the interpreter's last collections would visit 600,000 objects: 1.2 s of CPU time
    require_version(str(installed.__version__))
    return installed


def require_version(version: str) -> None:
    """Refuse a version of Keras that executes code from model files.

    Raises:
        InputError: the version is older than ``OLDEST``.
    """
    major_minor = tuple(int(part) for part in re.findall(r"[0-9]+", version)[:2])
    if major_minor < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise InputError(
            f"Keras {version} can be made to execute code by a model file (CVE-2025-1550); it takes at least {oldest}: "
            + pip_install(f'"keras>={oldest}"')
        )
