"""The arrays of an old PyTorch file, read without PyTorch; only for published weights with a known digest."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}


def read(data: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of a dictionary written by ``torch.save`` of version 1.5 or earlier.

    Raises:
        pickle.UnpicklingError: the file contains anything else.
    """
    file = io.BytesIO(data)
    for _ in range(3):  # magic number, version, the machine
        _Reader(file).load()
    reader = _Reader(file)
    tensors = reader.load()
    for key in _Reader(file).load():
        kind, count = reader.storages[key]
        file.read(8)
        reader.values[key] = np.frombuffer(file.read(count * kind.itemsize), kind)
    arrays = {}
    for name, (key, offset, shape, strides) in tensors.items():
        values = reader.values[key][offset:]
        steps = [step * values.itemsize for step in strides]
        arrays[name] = np.lib.stride_tricks.as_strided(values, shape, steps).copy()
    return arrays


class _Kind(str):
    """The name of a storage's class."""


def _tensor(key: str, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: object) -> tuple[Any, ...]:
    return key, offset, shape, strides


class _Reader(pickle.Unpickler):
    """An unpickler limited to the types of a dictionary of tensors."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.storages: dict[str, tuple[np.dtype[Any], int]] = {}
        self.values: dict[str, NDArray[Any]] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in TYPES:
            return _Kind(name)
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a dictionary of tensors")

    def persistent_load(self, pid: Any) -> str:
        _, kind, key, _, count, *_ = pid
        self.storages[key] = (TYPES[kind], count)
        return str(key)
