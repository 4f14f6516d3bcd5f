"""Weights in the older layout of torch.save, read without PyTorch: arrays are returned, and code does not run."""

from __future__ import annotations

import io
import os
import pickle
import sys
import types
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from glsl_infer.errors import InputError
from glsl_infer.tools.get import efficientnet_lite, torch_weights

MAGIC = 0x1950A86A20F9469CFC6C


class Tensor:
    """Tensor pickled as in PyTorch: a call of a PyTorch function with a storage and a view."""

    def __init__(self, storage: Storage, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> None:
        self.given = (storage, offset, size, stride, False, OrderedDict())

    def __reduce__(self) -> tuple[Any, ...]:
        return sys.modules["torch._utils"]._rebuild_tensor_v2, self.given  # type: ignore[attr-defined]


class Storage:
    def __init__(self, key: str, values: NDArray[Any]) -> None:
        self.key, self.values = key, values


class Pickler(pickle.Pickler):
    def persistent_id(self, storage: object) -> Any:
        if isinstance(storage, Storage):
            return "storage", sys.modules["torch"].FloatStorage, storage.key, "cpu", len(storage.values), None
        return None


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Provide the PyTorch names that occur in a file."""

    def rebuild(*_: object) -> None:
        raise AssertionError("is not called")

    main, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    rebuild.__module__, rebuild.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = rebuild  # type: ignore[attr-defined]
    main.FloatStorage = type("FloatStorage", (), {"__module__": "torch"})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", main)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)


def file_of(tensors: Any, *storages: Storage, magic: int = MAGIC) -> bytes:
    out = io.BytesIO()
    for record in (magic, 1001, {"little_endian": True}, tensors, [storage.key for storage in storages]):
        Pickler(out, 2).dump(record)
    for storage in storages:
        out.write(len(storage.values).to_bytes(8, "little") + storage.values.astype("<f4").tobytes())
    return out.getvalue()


def test_views_of_storages(torch: None) -> None:
    storage = Storage("7", np.arange(12.0))
    tensors = OrderedDict(
        plain=Tensor(storage, 0, (3, 4), (4, 1)),
        turned=Tensor(storage, 1, (4, 2), (1, 4)),
        one=Tensor(storage, 5, (), ()),
    )
    read = torch_weights.read(file_of(tensors, storage))
    np.testing.assert_array_equal(read["plain"], np.arange(12.0).reshape(3, 4))
    np.testing.assert_array_equal(read["turned"], [[1, 5], [2, 6], [3, 7], [4, 8]])
    assert read["one"] == 5.0


class Code:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("false",)


@pytest.mark.parametrize("damage", ["code", "beyond", "before", "short", "magic", "empty"])
def test_other_files_are_refused(torch: None, damage: str) -> None:
    storage = Storage("7", np.arange(12.0))
    views = {"beyond": Tensor(storage, 1, (3, 4), (4, 1)), "before": Tensor(storage, 0, (3,), (-1,))}
    tensors = {"x": Code() if damage == "code" else views.get(damage, Tensor(storage, 0, (3, 4), (4, 1)))}
    data = file_of(tensors, storage, magic=1 if damage == "magic" else MAGIC)
    data = {"short": data[:-5], "empty": b""}.get(damage, data)
    with pytest.raises(InputError, match="the weights cannot be read"):
        torch_weights.read(data)


def test_weights_of_another_network() -> None:
    with pytest.raises(InputError, match=r"'_conv_stem\.weight'"):
        efficientnet_lite.graph({}, "center-square/area-average")
