"""The package ``tflite``, which has the file schema, imported on first use."""

from __future__ import annotations

from typing import Any

from glsl_infer.errors import MissingExtraError


def schema() -> Any:
    """Import and return the package.

    Raises:
        MissingExtraError: the package is not installed.
    """
    try:
        import tflite
    except ImportError as error:
        raise MissingExtraError.of(f"the package tflite ({error})", "tflite", "exporting a .tflite file") from None
    return tflite
