"""Reader of PyTorch weight files into NumPy arrays, without PyTorch.

Such a file is a series of pickles, which can execute code. This reader creates only ordered dicts, tensors of numbers,
and their storages. It supports the format that ``torch.save`` wrote before version 1.6.
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import InputError

_MAGIC = 0x1950A86A20F9469CFC6C
_TYPES = {"FloatStorage": np.dtype("<f4"), "DoubleStorage": np.dtype("<f8"), "LongStorage": np.dtype("<i8")}


class _Storage:
    """A block of elements, which several tensors can share.

    Attributes:
        values: the elements; empty until they are read.
    """

    def __init__(self, dtype: np.dtype[Any], size: int) -> None:
        self.dtype, self.size = dtype, size
        self.values: NDArray[Any] = np.zeros(0, dtype)


class _Tensor:
    """A view of a storage, in elements."""

    def __init__(
        self, storage: _Storage, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: object
    ) -> None:
        self.storage, self.offset, self.size, self.stride = storage, offset, size, stride

    def array(self) -> NDArray[Any]:
        """Return a copy of the elements."""
        last = self.offset + sum((side - 1) * step for side, step in zip(self.size, self.stride))
        if min((*self.size, *self.stride, self.offset), default=0) < 0 or last >= self.storage.size:
            raise ValueError("a tensor reaches beyond its storage")
        elements = self.storage.values[self.offset :]
        steps = [step * elements.itemsize for step in self.stride]
        return np.array(np.lib.stride_tricks.as_strided(elements, self.size, steps, writeable=False))


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: BinaryIO, storages: dict[str, _Storage]) -> None:
        super().__init__(file, encoding="utf-8")
        self._storages = storages

    def find_class(self, module: str, name: str) -> Any:
        """Return one of the few classes needed for weights."""
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _Tensor
        if module == "torch" and name in _TYPES:
            return _TYPES[name]
        raise pickle.UnpicklingError(f"{module}.{name} is not needed for weights")

    def persistent_load(self, pid: Any) -> _Storage:
        """Return the storage of a key."""
        storage, dtype, key, _, size, view = pid
        if storage != "storage" or view is not None or not isinstance(dtype, np.dtype):
            raise pickle.UnpicklingError("an unknown kind of storage")
        return self._storages.setdefault(key, _Storage(dtype, int(size)))


def read(data: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file by name.

    Raises:
        InputError: it is damaged, or not such a file.
    """
    file, storages = io.BytesIO(data), dict[str, _Storage]()
    try:
        magic, _, system, tensors, keys = (_Unpickler(file, storages).load() for _ in range(5))
        if magic != _MAGIC or not system["little_endian"]:
            raise ValueError("not a file of torch.save")
        for key in keys:
            storage = storages[key]
            if int.from_bytes(file.read(8), "little") != storage.size:
                raise ValueError("a storage of another size")
            raw = file.read(storage.size * storage.dtype.itemsize)
            storage.values = np.frombuffer(raw, storage.dtype, storage.size)
        return {name: tensor.array() for name, tensor in tensors.items()}
    except Exception as error:  # a damaged pickle raises a dozen types
        raise InputError(f"the weights cannot be read ({error})") from None
