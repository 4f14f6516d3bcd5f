"""Size limits of a bundle, so that an untrusted file causes an error instead of exhausting the memory.

``format_constants`` has them, and so do the readers in Java and TypeScript. Each limit, except for the dimensions, is
at least eight times the need of the largest exports tried (X22 at 385x385). They also bound the reader's work: its
memory per pair of layers and its multiplications per weight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from glsl_infer.bundle.format_constants import (
    MAX_DRAWN_TEXELS,
    MAX_LAYERS,
    MAX_PASSES,
    MAX_PROGRAMS,
    MAX_QUADS,
    MAX_RESULT,
    MAX_SHADER_BYTES,
    MAX_TEXTURE_BYTES,
    MAX_TEXTURES,
)
from glsl_infer.errors import BundleError
from glsl_infer.program.texels import shape_of

if TYPE_CHECKING:
    from glsl_infer.bundle.manifest import Manifest


def check(manifest: Manifest, sizes: Mapping[str, int]) -> None:
    """Refuse a manifest that exceeds a limit.

    Args:
        manifest: the result of ``manifest_json.from_json``; its parts have not been checked against each other.
        sizes: bytes of every member.

    Raises:
        BundleError: a limit is exceeded; names the quantity and the limit.
    """
    texels = sum(texture.width * texture.height for texture in manifest.textures)
    quads = [quad for entry in manifest.passes for quad in entry.quads]
    given = [math.prod(entry.shape) for entry in manifest.inputs]  # can exceed the textures, because views can overlap
    made = [sum(math.prod(shape_of(value)) for value in output.values) for output in manifest.outputs]
    for what, count, cap in (
        ("layers", len(manifest.layers), MAX_LAYERS),
        ("textures", len(manifest.textures), MAX_TEXTURES),
        ("programs", len(manifest.programs), MAX_PROGRAMS),
        ("passes", len(manifest.passes), MAX_PASSES),
        ("quads", len(quads), MAX_QUADS),
        ("bytes of textures", 4 * texels, MAX_TEXTURE_BYTES),
        ("numbers in an input", max(given, default=0), MAX_RESULT),
        ("numbers in an output", max(made, default=0), MAX_RESULT),
        ("texels drawn in a frame", sum(quad.width * quad.height for quad in quads), MAX_DRAWN_TEXELS),
    ):
        if count > cap:
            raise BundleError(f"{count} {what}; a model has at most {cap}")
    for name, size in sizes.items():
        if name.startswith("shaders/") and size > MAX_SHADER_BYTES:
            raise BundleError(f"member '{name}' has {size} bytes of GLSL; a shader has at most {MAX_SHADER_BYTES}")
