"""Rewrites weight textures into a form that llvmpipe compiles sooner. Shaders compute the same values from them.

Such a texture has two halves, high bytes above low bytes. Shaders find the lower half by adding 0.5 to a coordinate.

llvmpipe compiles separate machine code for textures with powers of two as width and height, and for others. Layers with
a common program can have textures of either type, for example 64 and 96 rows in X22. With an additional row at the end
of each half, none of the heights is a power of two. The lower half still starts in the middle, and coordinates of rows
follow from the texture's height when vertices are computed (``frame.vertices``). So llvmpipe compiles once.

llvmpipe compiles shaders that fetch floats in half the time of shaders that fetch bytes, but draws them slower. If few
fragments fetch, floats replace the bytes, converted exactly as the driver would.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set

import numpy as np

from glsl_infer.bundle import Bundle
from glsl_infer.support.records import replace

HALVES = b"lower = ROW.y + 0.5;"
"""Line in shaders that read two halves (shaders/convolution_texture.frag). Nothing in them depends on the height."""

SAMPLER = "weights"
"""Sampler of the weights in these shaders."""

MOST_FRAGMENTS = 100_000
"""Maximum number of fragments per frame of a program that reads floats. Two programs of 97,000 each cost X22's frame
little; two of a million, over a quarter.
"""

MOST_BYTES = 32 << 20
"""Size limit of all float textures together, four times the bytes in the file; X22's take 1.3 MB."""


def with_spare_rows(bundle: Bundle, largest: int) -> Bundle:
    """Return a bundle that draws the same bytes, without a power of two as the height of a texture of two halves.

    Args:
        bundle: the bundle to draw.
        largest: maximum width and height of a texture in texels. A texture is not changed if it would exceed it.
    """
    manifest, members = bundle.manifest, dict(bundle.members)
    halved = _read_by(bundle, _readers(bundle))
    textures = []
    for texture in manifest.textures:
        spare_rows = 2 if texture.height == 2 else 1  # per half: a total of 4 would be a power of two again
        height = texture.height + 2 * spare_rows
        change = texture.name in halved and _power_of_two(texture.height) and height <= largest
        if change and texture.member is not None:
            name = f"{texture.member}+"  # members of a file never have such a name
            members[name] = _spaced(members[texture.member], bytes(4 * texture.width * spare_rows))
            textures.append(replace(texture, height=height, member=name))
        else:
            textures.append(texture)
    return replace(bundle, manifest=replace(manifest, textures=tuple(textures)), members=members)


def few_read(bundle: Bundle) -> frozenset[str]:
    """Return the names of the textures of two halves to convert to floats; empty if these would be too large."""
    fragments: Counter[str] = Counter()
    for draw in bundle.manifest.passes:
        fragments[draw.program] += draw.pixels
    halved = _read_by(bundle, {name for name in _readers(bundle) if fragments[name] <= MOST_FRAGMENTS})
    texels = sum(texture.width * texture.height for texture in bundle.manifest.textures if texture.name in halved)
    return frozenset(halved) if 16 * texels <= MOST_BYTES else frozenset()


def floats(texels: bytes) -> bytes:
    """Return bytes as llvmpipe passes them to a shader, in 32-bit floats: the byte times the float32 of 1 / 255."""
    values = np.frombuffer(texels, np.uint8).astype(np.float32) * np.float32(1.0 / 255.0)
    return bytes(values.tobytes())


def _readers(bundle: Bundle) -> set[str]:
    """Return the names of the programs that read two halves."""
    return {
        program.name
        for program in bundle.manifest.programs
        if SAMPLER in program.samplers and HALVES in bundle.members[program.fragment]
    }


def _read_by(bundle: Bundle, programs: Set[str]) -> set[str]:
    """Return the names of the textures that only these programs read, and only as weights."""
    units = {
        program.name: program.samplers.index(SAMPLER)
        for program in bundle.manifest.programs
        if program.name in programs
    }
    weights, others = set[str](), set[str]()
    for draw in bundle.manifest.passes:
        for unit, name in enumerate(draw.textures):
            (weights if units.get(draw.program) == unit else others).add(name)
    return weights - others


def _power_of_two(number: int) -> bool:
    return number > 1 and number & (number - 1) == 0


def _spaced(texels: bytes, spare: bytes) -> bytes:
    """Return the texels of a texture with ``spare`` at the end of each half."""
    half = len(texels) // 2
    return texels[:half] + spare + texels[half:] + spare
