"""Per-channel constants in a texture, so that one draw serves all slices instead of one with uniforms for each.

The texture has a row for each slice, with three texels for each constant, or four if the output has 16 bits. A texel
belongs to four channels. With bytes h, m and l, constant = (65536 * h + 256 * m + l - 8388608) * unit. A fourth byte
adds 8 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering import fold
from glsl_infer.lowering.bindings import Binding
from glsl_infer.lowering.weight_texture import unit_of
from glsl_infer.lowering.weights_plan import INSTRUCTIONS
from glsl_infer.program.layout import MAX_TEXTURE_SIZE, FeatureMap

ROLE = "numbers"
"""Role of the texture in a binding."""

TEXELS = {8: 3, 16: 4}
"""Texels of a constant, by the bits of the output."""

PER_NUMBER = {8: 50.0, 16: 90.0}
"""Instructions to fetch a constant, by the bits of the output: 33 and 63 by Mesa's vc4 compiler, and the latency of
fetches."""

Rows = Mapping[str, NDArray[np.floating]]


MOST_ADDED = 1000.0
"""Largest addend of the stored value. With 24 bits its error is below 1/65 of an 8-bit step."""


def pays(
    numbers: Rows, bits: int, pixels: int, draws_saved: int, draw_cost: float, added: Collection[str] = ()
) -> bool:
    """Return whether a texture is faster than a draw for each slice, and exact enough.

    Args:
        numbers: constants that differ between slices, (slices, 4) each, by name.
        bits: of the output.
        pixels: drawn pixels of a slice, including second tiles.
        draws_saved: number of draws saved by the texture.
        draw_cost: microseconds of a draw.
        added: names of constants added to the stored value or multiplied by a texel. The others are factors of larger
            values.
    """
    slices = len(next(iter(numbers.values())))
    if TEXELS[bits] * len(numbers) > MAX_TEXTURE_SIZE or slices > MAX_TEXTURE_SIZE:
        return False
    extra_time = PER_NUMBER[bits] * len(numbers) * pixels * slices / INSTRUCTIONS
    exact = (
        np.abs(rows).max() <= MOST_ADDED if name in added else _fits_24_bits(rows) for name, rows in numbers.items()
    )
    return extra_time < draws_saved * draw_cost and all(exact)


def draws_saved(
    target: FeatureMap, read: Sequence[Sequence[object]], times: int, *, separate_last_slice: bool = True
) -> int:
    """Return the number of draws that a texture saves.

    Args:
        target: the output.
        read: textures read by each slice. Slices with the same textures share a draw.
        times: draws of each slice, as of ``Builder.times``.
        separate_last_slice: whether a last slice with padding lanes has its own shader.
    """
    texture_sets = len({(view.texture, *textures) for view, textures in zip(target.views, read)})
    return times * (len(target.views) - texture_sets - (separate_last_slice and target.channels % 4 > 0))


def pack(numbers: Rows, bits: int) -> tuple[NDArray[np.uint8], dict[str, list[float]]]:
    """Return texels (slices, texels, 4) of the constants, and the uniforms with their units.

    ``bits`` are those of the output.
    """
    columns, units = [], {}
    middle = 1 << 8 * TEXELS[bits] - 1
    for name, rows in numbers.items():
        unit = float(unit_of(float(np.abs(rows).max()), middle - 1))
        integers = np.clip(np.floor(rows / unit + 0.5), 1 - middle, middle - 1).astype(np.int64) + middle
        columns += [integers >> 8 * byte & 255 for byte in reversed(range(TEXELS[bits]))]
        units[f"{name}_unit"] = [255.0 * unit]
    return np.stack(columns, axis=1).astype(np.uint8), units


def read(texels: bytes, units: Sequence[float], slices: int) -> NDArray[np.float64]:
    """Decode the constants (slices, constants, 4) from a texture's member and the uniforms of its units.

    Raises:
        ValueError: the size of the member is wrong.
    """
    rows = np.frombuffer(texels, np.uint8).reshape(slices, len(units), -1, 4).astype(np.float64)
    count = rows.shape[2]
    integers = rows.transpose(0, 1, 3, 2) @ 256.0 ** np.arange(count)[::-1] - (1 << 8 * count - 1)
    numbers: NDArray[np.float64] = integers * (np.array(units) / 255.0)[:, None]
    return numbers


def declarations(numbers: Rows) -> list[str]:
    """Return GLSL declarations of the units."""
    return [f"uniform float {name}_unit;" for name in numbers]


def lines(numbers: Iterable[str], bits: int, binding: Binding, wait: Callable[[str], str] = str) -> list[str]:
    """Return GLSL lines that define a vec4 for each constant, with its name.

    Args:
        numbers: names of the constants.
        bits: of the output.
        binding: of the draw.
        wait: converts a coordinate to one that waits for earlier computations.
    """
    result: list[str] = []
    texels = TEXELS[bits]
    for index, name in enumerate(numbers):
        coordinates = (wait(binding.place(ROLE, tap=(texels * index + byte, 0))) for byte in range(texels))
        high, *lower_bytes = (f"texture2D({binding.sampler(ROLE)}, {coordinate})" for coordinate in coordinates)
        if bits == 16:  # an unrounded high byte would have a larger error than the value of the last byte
            result += [f"vec4 {name} = (floor({high} * 255.0 + 0.5) - 128.0) * (16777216.0 / 255.0);"]
        else:
            result += [f"vec4 {name} = ({high} - 128.0 / 255.0) * 65536.0;"]
        result += [f"{name} += {byte} * {256.0 ** (len(lower_bytes) - 1 - k)};" for k, byte in enumerate(lower_bytes)]
        result += [f"{name} *= {name}_unit;"]
    return result


def uniforms_of(numbers: Rows, index: int) -> dict[str, Sequence[float]]:
    """Return a slice's row of the constants as uniforms."""
    return {name: rows[index].tolist() for name, rows in numbers.items()}


def _fits_24_bits(rows: NDArray[np.floating]) -> bool:
    """Return whether 24 bits in units of the largest element are precise enough for the smallest."""
    sizes = np.abs(rows[rows != 0.0])
    return not len(sizes) or bool(sizes.max() <= fold.MOST_RATIO * sizes.min())
