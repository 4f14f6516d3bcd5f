"""Checks of a Keras model file before Keras loads it."""

from __future__ import annotations

import contextlib
import io
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from glsl_infer.errors import ModelError
from glsl_infer.importers.core import limits
from glsl_infer.support import json_text

CONFIG = "config.json"

MOST_CONFIG = 64 << 20
"""Largest size of a config in bytes."""

_SAVED_MODEL = "saved_model.pb"


def require_file(path: Path) -> None:
    """Refuse a path that is not a file, in particular a SavedModel, which is a folder.

    Raises:
        ModelError: the file is missing, or is a folder.
    """
    if (path / _SAVED_MODEL).is_file() or path.name == _SAVED_MODEL:
        raise ModelError(f"{path}: a TensorFlow SavedModel; give its whole folder, with the folder variables in it")
    if path.is_dir():
        raise ModelError(f'{path}: a folder without saved_model.pb; give a file that model.save("x.keras") wrote')
    if not path.is_file():
        raise ModelError(f"{path}: no such file")


def config_of(path: Path) -> dict[str, Any] | None:
    """Return the config of a ``.keras`` file: the model's layers without weights; None for any other file."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(CONFIG).file_size > MOST_CONFIG:
                return None
            config = json_text.loads(archive.read(CONFIG))
    except (OSError, KeyError, ValueError, RecursionError, NotImplementedError, zipfile.BadZipFile):
        return None
    return config if isinstance(config, dict) else None


def objects_in(config: Any) -> Iterator[dict[str, Any]]:
    """Yield every serialized object of a config, outer ones first."""
    stack = [config]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if isinstance(value.get("class_name"), str) and isinstance(value.get("config"), dict):
                yield value
            stack += reversed(list(value.values()))
        elif isinstance(value, list):
            stack += reversed(value)


RUN_OTHERS = frozenset({"FlaxLayer", "JaxLayer", "Lambda", "TFSMLayer", "TorchModuleWrapper"})
"""Layers that execute code from the file."""

READ_FILES = frozenset({"IndexLookup", "IntegerLookup", "StringLookup", "TextVectorization"})
"""Layers that read a file whose path is in the config."""

_ROOMS = frozenset(
    {
        *("activations", "constraints", "dtype_policies", "initializers", "layers", "losses", "metrics", "models"),
        *("ops", "optimizers", "quantizers", "random", "regularizers"),
    }
)
"""Modules of Keras that only compute. Others download or unpack files, or disable the safe mode."""

_OF_NETWORKS = frozenset({("applications.convnext", "LayerScale")})
"""Layers of Keras' own networks, by module."""

_H5 = ("h5", "hdf5")
_MOST_OBJECTS = 100_000


def check_file(path: Path, rewritten: dict[str, Any] | None = None) -> None:
    """Refuse a file whose config names unsafe objects, or whose weights exceed the memory limit.

    Args:
        path: of the file.
        rewritten: the config for Keras, in place of the file's.

    Raises:
        ModelError: the file is refused or damaged.
    """
    try:
        if rewritten is not None:
            check_config(path, rewritten)
        if zipfile.is_zipfile(path):
            _check_zip(path, rewritten)
        elif path.suffix.lower().lstrip(".") in _H5:
            _check_h5(path, str(path), with_config=rewritten is None)
        elif path.suffix.lower() == ".keras":  # Keras would report a missing file
            raise ModelError(f"{path}: not a Keras model, or cut off before its end; save or copy the file again")
    except (
        OSError,
        ValueError,
        KeyError,
        RuntimeError,
        RecursionError,
        NotImplementedError,
        zipfile.BadZipFile,
    ) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(f"{path}: not a model that Keras can load ({reason})") from None


def check_config(source: object, config: Any) -> None:
    """Refuse a config with objects that may do more than compute.

    Raises:
        ModelError: the config has such an object. The message names the first.
    """
    stack = [config]
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack += value
        elif isinstance(value, dict):
            stack += value.values()
            name = value.get("class_name")
            if isinstance(name, str):
                _check_object(source, name, value)


def _check_object(source: object, name: str, serialized: dict[str, Any]) -> None:
    module = serialized.get("module")
    kind = name.rpartition(">")[2]
    if kind in RUN_OTHERS | READ_FILES or name == "__lambda__":
        what = (
            "executes code of the file" if kind in RUN_OTHERS or name == "__lambda__" else "reads files by their path"
        )
        raise ModelError(
            f"{source}: holds a {kind}, which {what}; nothing of it was loaded; build the model without it"
        )
    parts = str(module or "").split(".")
    inside = parts[2:] if parts[1:2] == ["src"] else parts[1:]
    is_allowed = (".".join(inside), name) in _OF_NETWORKS
    if parts[0] == "keras" and inside and inside[0] not in _ROOMS and not is_allowed:
        part = serialized.get("config") if name == "function" else name
        raise ModelError(
            f"{source}: names '{module}.{part:.60}', which is not part of a network; nothing of it was loaded; do not "
            "trust this file"
        )
    if name == "function" and parts[0] not in ("", "builtins", "keras"):
        raise ModelError(
            f"{source}: names the function '{module}.{serialized.get('config')!s:.60}', which is not a function of "
            "Keras; nothing of it was loaded; do not trust this file"
        )


@contextlib.contextmanager
def bounded(keras: Any, source: object) -> Iterator[None]:
    """Count the weights of a model under construction, before each weight is created.

    Raises:
        ModelError: the sum is over the memory limit.
    """
    weights, refusals = limits.Weights(source), list[ModelError]()
    kind = keras.layers.Layer
    original = kind.add_weight

    def add_weight(self: Any, shape: Any = None, *args: Any, **options: Any) -> Any:
        shape_sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
        sizes = [size for size in shape_sizes if isinstance(size, int)]
        try:
            weights.add(4 * math.prod(sizes), str(getattr(self, "name", "")))
        except ModelError as error:
            refusals.append(error)  # Keras wraps exceptions raised here in its own message
            raise
        return original(self, shape, *args, **options)

    kind.add_weight = add_weight
    try:
        yield
    except Exception:
        if refusals:
            raise refusals[0] from None
        raise
    finally:
        kind.add_weight = original


def _check_zip(path: Path, rewritten: dict[str, Any] | None) -> None:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        limits.check_zip(path, members)
        config = next((member for member in members if member.filename == CONFIG), None)
        if config is not None:
            if config.file_size > MOST_CONFIG:
                raise ModelError(f"{path}: its config has {config.file_size:,} bytes; at most {MOST_CONFIG:,} are read")
            if rewritten is None:
                check_config(path, json_text.loads(archive.read(config)))
        for member in members:
            if member.filename.endswith(".h5"):
                _check_h5(io.BytesIO(archive.read(member)), f"{path}: {member.filename}", with_config=False)


def _check_h5(file: Any, source: str, *, with_config: bool) -> None:
    """Refuse an HDF5 file with data in other files, or data that exceeds the memory limit."""
    import h5py

    weights, visited = limits.Weights(source), set[int]()
    with h5py.File(file, "r") as root:
        if with_config and "model_config" in root.attrs:
            check_config(source, json_text.loads(root.attrs["model_config"]))
        stack = [root]
        while stack:
            group = stack.pop()
            for name in group:
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    raise ModelError(f"{source}: '{name:.60}' is a link to another place; save the model again")
                item = group[name]
                address = h5py.h5o.get_info(item.id).addr
                if address in visited:
                    continue
                visited.add(address)
                if len(visited) > _MOST_OBJECTS:
                    raise ModelError(f"{source}: holds more than {_MOST_OBJECTS:,} objects")
                if isinstance(item, h5py.Group):
                    stack.append(item)
                elif isinstance(item, h5py.Dataset):
                    if item.is_virtual or item.external:
                        raise ModelError(f"{source}: the numbers of '{name:.60}' are in another file; save it again")
                    weights.add(math.prod(item.shape or ()) * item.dtype.itemsize, item.name or name)
