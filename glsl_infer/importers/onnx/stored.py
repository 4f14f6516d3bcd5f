"""The stored values of a file, in the file itself or in external data files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.importers.core import limits
from glsl_infer.importers.onnx.model import Numbers

MOST_BYTES = 2**30
"""Largest number of bytes computed from constants: more than any network for fragment shaders needs."""

_WIDE = ("bfloat16", "float8", "float4", "float6", "int4", "int2")
"""Prefixes of the names of types that NumPy lacks."""


def text(encoded: str | bytes) -> str:
    """Return a text of a file. In a damaged file without valid UTF-8, protobuf returns bytes."""
    return encoded.decode("utf-8", "replace") if isinstance(encoded, bytes) else encoded


class Stored:
    """Reader of the tensors of one file, with a limit of their bytes.

    Args:
        onnx: the package.
        source: the name of the file in messages.
        folder: the folder of external data files; None to refuse external data.
    """

    def __init__(self, onnx: Any, source: str, folder: Path | None) -> None:
        self._onnx, self._source, self._folder = onnx, source, folder
        self._weights = limits.Weights(source)

    def count(self, size: int) -> None:
        """Count more bytes.

        Raises:
            ModelError: the sum is over the limit.
        """
        self._weights.add(size)

    def type_name(self, number: int) -> str:
        """Return NumPy's name of an element type."""
        try:
            return str(np.dtype(self._onnx.helper.tensor_dtype_to_np_dtype(number)))
        except (KeyError, TypeError, ValueError):
            return f"number {number}"

    def tensor(self, tensor: Any) -> Callable[[], Numbers]:
        """Return a function that returns the values of a ``TensorProto``, in its shape.

        The function raises a ModelError if the values do not match the shape.
        """
        return cache(lambda: self._read(tensor))

    def sparse(self, sparse: Any) -> Callable[[], Numbers]:
        """Return a function that returns the values of a ``SparseTensorProto`` as a dense array."""

        @cache
        def read() -> Numbers:
            values, indices = self._read(sparse.values), self._read(sparse.indices).astype(np.int64)
            shape = tuple(int(size) for size in sparse.dims)
            if any(size < 0 for size in shape):  # two negative sizes have a product above 0, and one reduces the count
                raise self._damaged(text(sparse.values.name), f"a shape of {shape[:16]}")
            self.count(math.prod(shape) * values.itemsize)
            try:
                flat = indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), shape)
                filled = np.zeros(math.prod(shape), values.dtype)
                filled[flat] = values
                return filled.reshape(shape)
            except (ValueError, IndexError, TypeError):
                raise self._damaged(text(sparse.values.name), "sparse numbers that do not fit their shape") from None

        return read

    def _read(self, tensor: Any) -> Numbers:
        shape = tuple(int(size) for size in tensor.dims)
        size = math.prod(shape)
        if any(length < 0 for length in shape) or len(shape) > 16:
            raise self._damaged(text(tensor.name), f"a shape of {shape[:16]}")
        kind = self.type_name(tensor.data_type)
        if kind.startswith(("number", "object", "str", "<U", "|S")):
            raise ModelError(f"{self._source}: '{text(tensor.name):.96}': constants of type {kind} cannot be exported")
        self.count(8 * size if kind.startswith(_WIDE) else np.dtype(kind).itemsize * size)
        if tensor.data_location == self._onnx.TensorProto.EXTERNAL:
            tensor = self._with_external_data(tensor)
        try:
            values = np.asarray(self._onnx.numpy_helper.to_array(tensor))
            values = values.reshape(shape)
        except (ValueError, TypeError, IndexError, KeyError, OverflowError):
            raise self._damaged(text(tensor.name), f"other numbers than a shape of {shape} needs") from None
        # Integers of 2 and 4 bits keep their type, because a cast to it wraps around.
        return values.astype(np.float32) if kind.startswith(_WIDE) and "int" not in kind else values

    def _with_external_data(self, tensor: Any) -> Any:
        """Return a tensor with its bytes from an external data file.

        Raises:
            ModelError: the model's folder does not have such a file, or the file is too short.
        """
        about = {text(item.key): text(item.value) for item in tensor.external_data}
        location = about.get("location", "")
        if self._folder is None:
            raise ModelError(
                f"'{text(tensor.name):.96}' is stored in another file, '{location:.96}'; give the model as a file"
            )
        inside = self._folder.resolve()
        try:
            path = (inside / location).resolve()
            if not location or Path(location).is_absolute() or inside not in path.parents or not path.is_file():
                raise ModelError(
                    f"{self._source}: '{text(tensor.name):.96}' is stored in '{location:.96}', which is not a file in "
                    "the folder of the model; put it there"
                )
            offset, file_size = int(about.get("offset", 0)), path.stat().st_size
            length = int(about.get("length", file_size - offset))
            if offset < 0 or length < 0 or offset + length > file_size:
                raise self._damaged(
                    tensor.name, f"bytes {offset} to {offset + length} of {path.name}, which has {file_size}"
                )
            self.count(length)
            with path.open("rb") as file:
                file.seek(offset, os.SEEK_SET)
                data = file.read(length)
        except (OSError, ValueError) as error:
            raise self._damaged(text(tensor.name), f"numbers in '{location:.96}' ({error})") from None
        loaded = type(tensor)()
        loaded.CopyFrom(tensor)
        loaded.ClearField("external_data")
        loaded.data_location = self._onnx.TensorProto.DEFAULT
        loaded.raw_data = data
        return loaded

    def _damaged(self, name: str, what: str) -> ModelError:
        return ModelError(f"{self._source}: '{name:.96}' has {what}; the file is damaged, get it anew")
