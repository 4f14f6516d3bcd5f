"""Bundle files made and broken for tests."""

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
"""What a stranger may make of a bundle's vertex shader; the first ones end a process with some drivers."""

_CAPABILITY_VERSION, _DAC_OVERRIDE, _DAC_READ_SEARCH = 0x20080522, 1 << 1, 1 << 2  # of linux/capability.h

SECOND_TILE = tiny.tiny_manifest()["graph"]["layers"][1]["output"]["views"][1][1:]
"""Where the second slice of the first convolution lies; the probe's first record belongs to the first."""


def refusal(path: Path) -> str:
    """The message with which a file is refused; it names the file."""
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
    """Write a zip of members as they are, in any order, with repetitions in ``extra``."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of names that are there already
        for name, data in extra:
            archive.writestr(name, data)
    return path


def rehashed(members: Members, changes: Mapping[str, bytes] | None = None) -> Members:
    """Change members, with their sha256 in the manifest kept right."""
    manifest = json.loads(members["manifest.json"])
    changed = {**members, **(changes or {})}
    manifest["members"] = {
        name: hashlib.sha256(data).hexdigest() for name, data in changed.items() if name != "manifest.json"
    }
    return {**changed, "manifest.json": json.dumps(manifest).encode()}


def hostile_vertex_shader(folder: Path, good: bytes, kind: Union[str, Callable[[bytes], bytes]]) -> Path:
    """Write the tiny bundle with the vertex shader for four varyings changed, its hash made right.

    Args:
        folder: where.
        good: the tiny bundle as a file.
        kind: key of ``HOSTILE_VERTEX_SHADERS``, or what to do with the text.
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
    """Give up root's right to read and write whatever the permissions say, where the tests run as root.

    It stays root, so it may still read its own files: what is imported now may lie in a folder that is private to root.
    """
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, had = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, had) == 0, os.strerror(ctypes.get_errno())
    less = type(had)(*had)
    less[0] &= ~(_DAC_OVERRIDE | _DAC_READ_SEARCH)  # the first number: the lower 32 effective ones
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
