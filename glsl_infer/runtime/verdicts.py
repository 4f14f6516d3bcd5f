"""Records of passed checks in files, so that later starts need not repeat them.

Two checks are recorded. Checking the content of a bundle, most of all its shaders, takes a Pi Zero a third of a second
for a small model, and many seconds for one with hundreds of programs. A bundle's digest covers every byte, so a bundle
that has passed once will pass again.
The self-check on a driver runs at the first use of a model. Another driver, version or model is checked again. Only
passes are recorded: a failing driver is checked at every start until it passes.

They are next to the compiled programs (``program_cache``). The file's name and its text have a hash of everything the
verdict depends on. A verdict counts only if the file and its folder belong to this user and others cannot write them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Union

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle, manifest_json
from glsl_infer.errors import InputError
from glsl_infer.runtime import selfcheck
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.runtime.linking import driver_strings
from glsl_infer.runtime.program_cache import default_folder
from glsl_infer.support.files import is_own, is_own_folder, reading, writing

if TYPE_CHECKING:
    from glsl_infer.gl.context import Context
    from glsl_infer.runtime.session import Session

BUNDLE_FORMAT = "glsl-infer bundle 4"
"""The number increases whenever ``bundle.file.check_content`` refuses more than before."""

BUNDLE_SUFFIX = ".checked"

SELF_CHECK_FORMAT = "glsl-infer self-check 1"

SELF_CHECK_SUFFIX = ".passed"

MAX_FILES = 256
"""Maximum number of files with one suffix in a folder; the oldest are deleted."""


class Verdict:
    """A verdict recorded in a file.

    Args:
        folder: the folder of the file; created when the verdict is kept.
        key: a hash of everything the verdict depends on.
        suffix: of the file's name, by the kind of verdict.
        format: written into the file. A file with another format does not count.
    """

    def __init__(self, folder: Path, key: str, suffix: str, format: str) -> None:
        self._path, self._suffix = folder / f"{key}{suffix}", suffix
        self._text = json.dumps({"format": format, "key": key, "passed": True}).encode("ascii")

    def passed(self) -> bool:
        """Return whether the file exists, is trustworthy, and records a pass."""
        try:
            if not is_own_folder(self._path.parent):
                return False
            with reading(self._path) as file:
                return is_own(os.fstat(file.fileno())) and file.read(len(self._text) + 1) == self._text
        except (OSError, InputError):
            return False

    def keep(self) -> None:
        """Write the file. If that fails, the next start checks again."""
        with contextlib.suppress(OSError, ValueError, InputError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with writing(self._path, private=True) as file:
                file.write(self._text)
            files = sorted(self._path.parent.glob(f"*{self._suffix}"), key=lambda file: file.stat().st_mtime)
            for oldest in files[: max(0, len(files) - MAX_FILES)]:
                oldest.unlink()


def read_bundle(path: Union[str, Path]) -> Bundle:
    """Return a bundle as ``bundle.read`` does; a content that has passed before is not checked again.

    Raises:
        BundleError: as ``bundle.read``.
    """
    with _bundle_verdicts() as has_passed:
        return bundles.read(path, has_passed)


def write_bundle(bundle: Bundle, path: Union[str, Path]) -> None:
    """Write a bundle and read it back, as ``bundle.write`` does. ``read_bundle`` then does not check its content.

    Raises:
        InputError, ModelError: as ``bundle.write``.
    """
    with _bundle_verdicts() as has_passed:
        bundles.write(bundle, path, read_back=True, has_passed=has_passed)


@contextlib.contextmanager
def _bundle_verdicts() -> Iterator[Callable[[str], bool]]:
    """Yield the function ``has_passed`` of a bundle's reader; after the block, record that the others passed."""
    folder = default_folder()
    new: list[Verdict] = []

    def has_passed_before(digest: str) -> bool:
        if folder is None:
            return False
        key = hashlib.sha256(f"{BUNDLE_FORMAT} {digest}".encode("ascii")).hexdigest()
        verdict = Verdict(folder, key, BUNDLE_SUFFIX, BUNDLE_FORMAT)
        if verdict.passed():
            return True
        new.append(verdict)
        return False

    yield has_passed_before
    for verdict in new:  # only after the rest of the file has passed as well
        verdict.keep()


def check_once(session: Session, folder: Path | None = None, progress: Callable[[], object] = lambda: None) -> bool:
    """Run the self-check unless it has passed before with this model and driver; return whether it ran.

    Args:
        session: the session to check.
        folder: the folder of the recorded passes, by default ``program_cache.default_folder()``. Without one
            (``GLSL_INFER_CACHE=off``) the check runs every time.
        progress: called after each layer.

    Raises:
        SelfCheckError: a layer is wrong.
    """
    session.activate()
    verdict = _self_check_verdict(session.context, session.bundle, folder)
    session.activate()  # measuring the device's lines may have changed the context's state
    if verdict is not None and verdict.passed():
        return False
    selfcheck.check(session, progress).require()
    if verdict is not None:
        verdict.keep()
    return True


def keep_self_check(context: Context, bundle: Bundle) -> None:
    """Record a pass of the self-check with this model on the driver of the current context."""
    verdict = _self_check_verdict(context, bundle, None)
    if verdict is not None:
        verdict.keep()


def has_passed_self_check(context: Context, bundle: Bundle) -> bool:
    """Return whether the self-check has passed before with this model on the driver of the current context."""
    verdict = _self_check_verdict(context, bundle, None)
    return verdict is not None and verdict.passed()


def _self_check_verdict(context: Context, bundle: Bundle, folder: Path | None) -> Verdict | None:
    folder = default_folder() if folder is None else folder
    if folder is None:
        return None
    return Verdict(folder, self_check_key(context, bundle), SELF_CHECK_SUFFIX, SELF_CHECK_FORMAT)


def self_check_key(context: Context, bundle: Bundle) -> str:
    """Return the hash for the record of a pass: 64 hexadecimal digits. The context is current."""
    digest = bundle.digest  # a Pi Zero would need a second to write the manifest again, at every start
    if digest is None:
        digest = json.dumps(manifest_json.to_json(bundle.manifest), sort_keys=True)
    subject = [SELF_CHECK_FORMAT, *driver_strings(context.gl), driver_of(context).device_lines, digest]
    return hashlib.sha256(json.dumps(subject).encode("utf-8")).hexdigest()
