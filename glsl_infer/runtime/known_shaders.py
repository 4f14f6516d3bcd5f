"""Reads a bundle for a session, and checks the source of its shaders only once.

Parsing the shaders takes a Pi Zero a third of a second for a small model, and many seconds for one with hundreds of
programs. A bundle's digest covers every byte, so a bundle that has passed once will pass again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Union

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.runtime.program_cache import default_folder
from glsl_infer.runtime.verdicts import Verdict

FORMAT = "glsl-infer shaders 2"
"""The number increases whenever the check refuses more than before."""

SUFFIX = ".shaders"


def read(path: Union[str, Path]) -> Bundle:
    """Return a bundle as ``bundle.read`` does; shaders that have passed before are not parsed again.

    Raises:
        BundleError: as ``bundle.read``.
    """
    folder = default_folder()
    if folder is None:
        return bundles.read(path)
    new: list[Verdict] = []

    def known(digest: str) -> bool:
        key = hashlib.sha256(f"{FORMAT} {digest}".encode("ascii")).hexdigest()
        verdict = Verdict(folder, key, SUFFIX, FORMAT)
        if verdict.passed():
            return True
        new.append(verdict)
        return False

    bundle = bundles.read(path, known)
    for verdict in new:  # only after the rest of the file has passed as well
        verdict.keep()
    return bundle
