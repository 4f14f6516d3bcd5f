"""Conformance bundles with CPU parts: a sound one, and damaged ones.

``conformance.py`` writes them. A runner without CPU operators refuses every one by the rule ``parts``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import parted
from conformance_zip import zipped

from glsl_infer.bundle import MANIFEST
from glsl_infer.bundle.file import manifest_bytes

NAME = "cpu-parts.glslnn"
TOLERANCE = 0.02
"""Absolute tolerance of its output: a few quantisation steps of the last GPU part's maps."""

Manifest = dict[str, Any]


def sound_members() -> dict[str, bytes]:
    """Return every member of the sound bundle."""
    bundle = parted.parted_bundle()
    return {**bundle.members, MANIFEST: manifest_bytes(bundle)}


def _operators(data: Manifest) -> list[Manifest]:
    entries: list[Manifest] = data["parts"][1]["operators"]
    return entries


DAMAGED: dict[str, Callable[[Manifest], object]] = {
    "order": lambda data: data["parts"].reverse(),
    "operator": lambda data: _operators(data)[1].update(op="nothing"),
    "shape": lambda data: _operators(data)[0]["attrs"].update(shape=[5, 8]),
    "weights": lambda data: _operators(data)[1]["weights"].update(bias=[9]),
    "reads": lambda data: _operators(data)[1].update(inputs=["nowhere"]),
    # an inner layer of the CPU part, not one of its outputs
    "gpu-input": lambda data: data["parts"][2].update(inputs=["shares"]),
}
"""Change to the manifest of each damaged bundle; all break the rule ``parts``."""


def damaged_bundles() -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of every damaged bundle."""
    for name, change in DAMAGED.items():
        data: Manifest = json.loads(sound_members()[MANIFEST])
        change(data)
        yield name, zipped({**sound_members(), MANIFEST: json.dumps(data, separators=(",", ":")).encode("utf-8")})
