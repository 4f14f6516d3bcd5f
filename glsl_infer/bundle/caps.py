"""The most that a bundle may ask for, so that a file from a stranger ends in an error and not in a full memory.

``format_constants`` has them, and so have the readers in Java and TypeScript. Each, but for the dimensions, is at least
eight times what the largest exports tried need (X22 at 385x385). They bound the reader too: what it keeps for each pair
of layers and what it multiplies for each weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from glsl_infer.bundle.format_constants import (
    MAX_DRAWN_TEXELS,
    MAX_LAYERS,
    MAX_PASSES,
    MAX_PROGRAMS,
    MAX_QUADS,
    MAX_SHADER_BYTES,
    MAX_TEXTURE_BYTES,
    MAX_TEXTURES,
)
from glsl_infer.errors import BundleError

if TYPE_CHECKING:
    from glsl_infer.bundle.manifest import Manifest


def check(manifest: Manifest, sizes: Mapping[str, int]) -> None:
    """Refuse a manifest that asks for more than any network needs.

    Args:
        manifest: what ``manifest_json.from_json`` returned; its parts need not fit together yet.
        sizes: bytes of every member.

    Raises:
        BundleError: naming what there is too much of, and the cap.
    """
    quads = [quad for one in manifest.passes for quad in one.quads]
    for what, count, cap in (
        ("layers", len(manifest.layers), MAX_LAYERS),
        ("textures", len(manifest.textures), MAX_TEXTURES),
        ("programs", len(manifest.programs), MAX_PROGRAMS),
        ("passes", len(manifest.passes), MAX_PASSES),
        ("quads", len(quads), MAX_QUADS),
        ("bytes of textures", sum(4 * one.width * one.height for one in manifest.textures), MAX_TEXTURE_BYTES),
        ("texels drawn in a frame", sum(quad.width * quad.height for quad in quads), MAX_DRAWN_TEXELS),
    ):
        if count > cap:
            raise BundleError(f"{count} {what}; a model has at most {cap}")
    for name, size in sizes.items():
        if name.startswith("shaders/") and size > MAX_SHADER_BYTES:
            raise BundleError(f"member '{name}' has {size} bytes of GLSL; a shader has at most {MAX_SHADER_BYTES}")
