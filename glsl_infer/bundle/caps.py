"""The most that a bundle may ask for, so that a file from a stranger ends in an error and not in a full memory.

Each, but for the dimensions, is at least eight times what the largest exports tried need (X22 at 385x385).
docs/bundle-format.md lists them; the readers in Java and TypeScript have the same. They bound the reader too: what it
keeps for each pair of layers and what it multiplies for each weight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from glsl_infer.errors import BundleError
from glsl_infer.program.texels import shape_of

if TYPE_CHECKING:
    from glsl_infer.bundle.manifest import Manifest

MAX_BYTES = 256 << 20
"""Bytes that all members may unpack to."""
MAX_MANIFEST_BYTES = 16 << 20
"""Bytes of manifest.json; parsed, it takes many times as many."""
MAX_DIRECTORY_BYTES = 16 << 20
"""Bytes of the zip's central directory; in memory, its entries take many times as many."""
MAX_SHADER_BYTES = 256 << 10
"""Bytes of one member of GLSL."""
MAX_GRAPH_BYTES = 16 << 20
"""Bytes of graph.json."""
MAX_TABLE_BYTES = 32 << 20
"""Bytes of passes.bin: more than the most quads take; in memory, some ten times that."""
MAX_LAYERS = 2048
MAX_TEXTURES = MAX_PROGRAMS = MAX_FLOATS = 1 << 14
MAX_SIDE = 8192
"""Width or height of a texture or a map, and a place in it."""
MAX_GUTTER = 64
MAX_COUNT = 1 << 20
"""Channels, values of a vector, records of a layer."""
MAX_OFFSET = 1 << 28
"""First record of a layer."""
MAX_INPUTS = MAX_OUTPUTS = 16
MAX_VALUES = 64
"""Values of an output."""
MAX_STEPS = 16
"""Host steps of an output."""
MAX_COLUMNS = 1 << 20
"""Numbers in a row of the host step ``rows``."""
MAX_RESULT = 1 << 26
"""Numbers in all values of an output together."""
MAX_UNIFORMS = 64
"""Uniforms of a program."""
MAX_PASSES = 1 << 16
MAX_QUADS = 1 << 18
"""Quads of all passes together."""
MAX_TEXTURE_BYTES = 256 << 20
"""Bytes of all textures together, 4 a texel."""
MAX_DRAWN_TEXELS = 1 << 28
"""Texels that all quads of a frame cover together."""


def check(manifest: Manifest, sizes: Mapping[str, int]) -> None:
    """Refuse a manifest that asks for more than any network needs.

    Args:
        manifest: what ``manifest_json.from_json`` returned; its parts need not fit together yet.
        sizes: bytes of every member.

    Raises:
        BundleError: naming what there is too much of, and the cap.
    """
    texels = sum(texture.width * texture.height for texture in manifest.textures)
    quads = [quad for entry in manifest.passes for quad in entry.quads]
    numbers = [sum(math.prod(shape_of(value)) for value in output.values) for output in manifest.outputs]
    for what, count, cap in (
        ("layers", len(manifest.layers), MAX_LAYERS),
        ("textures", len(manifest.textures), MAX_TEXTURES),
        ("programs", len(manifest.programs), MAX_PROGRAMS),
        ("passes", len(manifest.passes), MAX_PASSES),
        ("quads", len(quads), MAX_QUADS),
        (
            "bytes of textures",
            4 * texels,
            MAX_TEXTURE_BYTES,
        ),
        ("numbers in an output", max(numbers, default=0), MAX_RESULT),
        ("texels drawn in a frame", sum(quad.width * quad.height for quad in quads), MAX_DRAWN_TEXELS),
    ):
        if count > cap:
            raise BundleError(f"{count} {what}; a model has at most {cap}")
    for name, size in sizes.items():
        if name.startswith("shaders/") and size > MAX_SHADER_BYTES:
            raise BundleError(f"member '{name}' has {size} bytes of GLSL; a shader has at most {MAX_SHADER_BYTES}")
