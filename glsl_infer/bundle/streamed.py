"""Members of a bundle released by a session: textures of weights, once the GPU has them.

On later access, for example by the self-check, they are read from the file again and must be unchanged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from glsl_infer.bundle import zip_directory
from glsl_infer.bundle.bundle import Bundle
from glsl_infer.bundle.zip_directory import Entry
from glsl_infer.errors import BundleError, InputError
from glsl_infer.support.files import reading
from glsl_infer.support.records import replace

LEAST_STREAMED_BYTES = 1 << 16
"""Minimum size in bytes of a released member."""


class Members(Mapping[str, bytes]):
    """The members of a file by name. Some can be released and read again.

    Args:
        path: of the file.
        members: the contents of all members, verified.
        digests: the sha256 of each.
    """

    def __init__(self, path: Path, members: Mapping[str, bytes], digests: Mapping[str, str]) -> None:
        self._path, self._digests = path.absolute(), digests
        self._loaded: dict[str, bytes | None] = dict(members)
        self._entries: dict[str, Entry] = {}

    @property
    def loaded(self) -> int:
        """Number of bytes in memory."""
        return sum(len(data) for data in self._loaded.values() if data is not None)

    def release(self, name: str) -> int:
        """Release a member from memory unless it is small; return the number of bytes freed."""
        data = self._loaded[name]
        if data is None or len(data) < LEAST_STREAMED_BYTES:
            return 0
        self._loaded[name] = None
        return len(data)

    def __getitem__(self, name: str) -> bytes:
        """Return a member.

        Raises:
            BundleError: it was released, and the file has changed since.
        """
        data = self._loaded[name]
        return self._again(name) if data is None else data

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded)

    def __len__(self) -> int:
        return len(self._loaded)

    def _again(self, name: str) -> bytes:
        try:
            with reading(self._path) as file:
                if not self._entries:
                    self._entries = {entry.name: entry for entry in zip_directory.read(file)}
                data = zip_directory.unpack(file, self._entries[name])
        except (BundleError, InputError, OSError, LookupError) as error:
            raise self._changed(name) from error
        if hashlib.sha256(data).hexdigest() != self._digests[name]:
            raise self._changed(name)
        return data

    def _changed(self, name: str) -> BundleError:
        return BundleError(
            f"{self._path}: the file is no longer that which was opened (member '{name}'); open the model again"
        )


def streamed(bundle: Bundle) -> Bundle:
    """Return a bundle from a file with members that can be released; several parts are returned unchanged."""
    if bundle.path is None or bundle.nested:
        return bundle
    return replace(bundle, members=Members(bundle.path, bundle.members, bundle.manifest.members))


def release(bundle: Bundle, name: str) -> int:
    """Release a member of a bundle if it can be read again; return the number of bytes freed, or 0."""
    members = bundle.members
    return members.release(name) if isinstance(members, Members) and name in members else 0
