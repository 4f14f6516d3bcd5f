"""The package ``onnx``, which has the file schema, imported on first use."""

from __future__ import annotations

from typing import Any

from glsl_infer.errors import MissingExtraError


def schema() -> Any:
    """Import and return the package.

    Raises:
        MissingExtraError: the package is not installed.
    """
    try:
        import onnx
        import onnx.numpy_helper
    except ImportError as error:
        raise MissingExtraError.of(f"the package onnx ({error})", "onnx", "exporting an .onnx file") from None
    return onnx
