"""Valid and damaged bundle files for tests."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Union

import pytest
import tiny

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.bundle.network import to_bytes
from glsl_infer.errors import BundleError

Members = dict[str, bytes]

HOSTILE_VERTEX_SHADERS: dict[str, Callable[[bytes], bytes]] = {
    "a varying unwritten": lambda text: text.replace(b"    coord1 = corner1;\n", b""),  # llvmpipe: segmentation fault
    "all of them": lambda text: b"".join(line for line in text.splitlines(True) if b"= corner" not in line),
    "half of one": lambda text: text.replace(b"coord0 = corner0", b"coord0.x = corner0.x"),
    "in a condition": lambda text: text.replace(b"coord0 =", b"if (position.x > 9.0) coord0 ="),
    "for another number": lambda text: text.replace(b"void main", b"varying vec4 coord6;\nvoid main"),
    "behind a return": lambda text: text.replace(b"    coord0 =", b"    return;\n    coord0 ="),
    "a loop": lambda text: text.replace(b"{\n", b"{\n    while (true) {}\n"),
    "a space more": lambda text: text.replace(b"}\n", b"} \n"),
    "no last line feed": lambda text: text[:-1],
    "a byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "carriage returns": lambda text: text.replace(b"\n", b"\r\n"),
    "nothing": lambda text: b"",
}
"""Hostile changes of a bundle's vertex shader; the first ones crash some drivers."""

_CAPABILITY_VERSION, _DAC_OVERRIDE, _DAC_READ_SEARCH = 0x20080522, 1 << 1, 1 << 2  # from linux/capability.h

SECOND_TILE = tiny.tiny_manifest()["graph"]["layers"][1]["output"]["views"][1][1:]
"""Position of the second slice of the first convolution; the probe's first record belongs to the first slice."""


def refusal(path: Path) -> str:
    """Return the error message for a file, which names it."""
    with pytest.raises(BundleError) as caught:
        bundles.read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


def members_of(data: bytes, folder: Path) -> Members:
    path = folder / "source.zip"
    path.write_bytes(data)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(path: Path, members: Mapping[str, bytes], extra: tuple[tuple[str, bytes], ...] = ()) -> Path:
    """Write a zip of members without changes, in any order; ``extra`` can repeat names."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about duplicate names
        for name, data in extra:
            archive.writestr(name, data)
    return path


def rehashed(members: Members, changes: Mapping[str, bytes] | None = None) -> Members:
    """Return changed members with the right sha256 in the manifest."""
    manifest = json.loads(members["manifest.json"])
    changed = {**members, **(changes or {})}
    manifest["members"] = {
        name: hashlib.sha256(data).hexdigest() for name, data in changed.items() if name != "manifest.json"
    }
    return {**changed, "manifest.json": json.dumps(manifest).encode()}


def hostile_vertex_shader(folder: Path, good: bytes, kind: Union[str, Callable[[bytes], bytes]]) -> Path:
    """Write the tiny bundle with a changed vertex shader for four varyings and the right hash.

    Args:
        folder: output folder.
        good: the tiny bundle as a file.
        kind: key of ``HOSTILE_VERTEX_SHADERS``, or a function that changes the source.
    """
    members, name = members_of(good, folder), "shaders/quads4.vert"
    changed = (HOSTILE_VERTEX_SHADERS[kind] if isinstance(kind, str) else kind)(members[name])
    assert changed != members[name]
    return zipped(folder / "vertex.glslnn", rehashed(members, {name: changed}))


def with_layer(bundle: Bundle, name: str, attrs: dict[str, Any]) -> Bundle:
    """Return the bundle with other attributes of one layer; an empty dict removes them all."""
    layers = tuple(
        replace(layer, attrs={**layer.attrs, **attrs} if attrs else {}) if layer.name == name else layer
        for layer in bundle.network.layers
    )
    graph = to_bytes(replace(bundle.network, layers=layers))
    return Bundle(bundle.manifest, {**bundle.members, "graph.json": graph})


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Drop root's right to ignore file permissions, if the tests run as root.

    The process stays root and can read its own files, because later imports may be in a folder private to root.
    """
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, had = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, had) == 0, os.strerror(ctypes.get_errno())
    less = type(had)(*had)
    less[0] &= ~(_DAC_OVERRIDE | _DAC_READ_SEARCH)  # the first element: the lower 32 effective capabilities
    assert libc.capset(header, less) == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        assert libc.capset(header, had) == 0


@contextmanager
def peak_memory_below(limit: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()
