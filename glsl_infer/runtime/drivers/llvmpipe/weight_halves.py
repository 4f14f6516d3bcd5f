"""Textures of weights as llvmpipe likes them, where shaders compute from them what they did before.

Such a texture is two halves, high bytes above low bytes, and shaders find the lower half by adding 0.5 to a coordinate.

llvmpipe's machine code is for textures whose width and height are powers of two, or for those that are none, and layers
that share a program have textures of either kind: 64 and 96 rows in X22, say. With a row more at the end of each half
none is, a half further down is still the lower half, and coordinates of rows follow from the texture's height when
vertices are made (``frame.vertices``). So it compiles once.

It compiles shaders that fetch floats in half the time of those that fetch bytes, but draws them slower. Where few
fragments fetch, bytes become the floats that the driver would have made of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import replace

import numpy as np

from glsl_infer.bundle import Bundle

HALVES = b"lower = ROW.y + 0.5;"
"""What shaders say that read two halves (shaders/convolution_texture.frag). Nothing in them depends on the height."""

SAMPLER = "weights"
"""By which they read them."""

MOST_FRAGMENTS = 100_000
"""What a program may draw in a frame to read floats. Two programs of 97,000 each cost X22's frame little; two of a
million, over a quarter."""

MOST_BYTES = 32 << 20
"""What floats of all textures together may take, four times the bytes in the file; X22's take 1.3 MB."""


def with_spare_rows(bundle: Bundle, largest: int) -> Bundle:
    """Return a bundle that draws the same, in which no texture of two halves has a power of two for its height.

    Args:
        bundle: what to draw.
        largest: width and height that no texture may exceed, in texels. One that would stays as it is.
    """
    manifest, members = bundle.manifest, dict(bundle.members)
    halved = _read_by(bundle, _readers(bundle))
    textures = []
    for texture in manifest.textures:
        spare = 2 if texture.height == 2 else 1  # of each half: 4 rows would be a power of two again
        height = texture.height + 2 * spare
        change = texture.name in halved and _power_of_two(texture.height) and height <= largest
        if change and texture.member is not None:
            name = f"{texture.member}+"  # no member of a file is called so
            members[name] = _spaced(members[texture.member], bytes(4 * texture.width * spare))
            textures.append(replace(texture, height=height, member=name))
        else:
            textures.append(texture)
    return replace(bundle, manifest=replace(manifest, textures=tuple(textures)), members=members)


def few_read(bundle: Bundle) -> frozenset[str]:
    """Return the names of the textures of two halves that had better be floats; none where they would be too many."""
    fragments: Counter[str] = Counter()
    for entry in bundle.manifest.passes:
        fragments[entry.program] += sum(quad.width * quad.height for quad in entry.quads)
    halved = _read_by(bundle, {name for name in _readers(bundle) if fragments[name] <= MOST_FRAGMENTS})
    texels = sum(texture.width * texture.height for texture in bundle.manifest.textures if texture.name in halved)
    return frozenset(halved) if 16 * texels <= MOST_BYTES else frozenset()


def floats(texels: bytes) -> bytes:
    """Return what a shader sees of bytes on llvmpipe, as 32-bit floats: the byte times the float next to 1 / 255."""
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
    read, otherwise = set[str](), set[str]()
    for entry in bundle.manifest.passes:
        for unit, name in enumerate(entry.textures):
            (read if units.get(entry.program) == unit else otherwise).add(name)
    return read - otherwise


def _power_of_two(number: int) -> bool:
    return number > 1 and number & (number - 1) == 0


def _spaced(texels: bytes, spare: bytes) -> bytes:
    """Return the texels of a texture with ``spare`` at the end of each half."""
    half = len(texels) // 2
    return texels[:half] + spare + texels[half:] + spare
