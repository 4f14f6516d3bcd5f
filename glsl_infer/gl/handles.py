"""GL names of the objects of a frame."""

from __future__ import annotations

from collections.abc import Mapping

from glsl_infer.support.records import dataclass


@dataclass(frozen=True)
class Linked:
    """A linked program: its GL name, and the locations of its uniforms."""

    name: int
    locations: Mapping[str, int]


@dataclass(frozen=True)
class Handles:
    """GL names of all objects that passes use, by their names in the manifest."""

    programs: Mapping[str, Linked]
    textures: Mapping[str, int]
    framebuffers: Mapping[str, int]
