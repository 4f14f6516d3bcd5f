"""Numbers for each channel in a texture: one draw serves all slices of a layer that would have uniforms for each.

A row for each slice has three texels for each number, a texel for four channels, or four where the output has 16 bits.
With bytes h, m and l of these, number = (65536 * h + 256 * m + l - 8388608) * unit; a fourth byte is another 8 bits.
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
"""Of the texture among what a draw reads."""

TEXELS = {8: 3, 16: 4}
"""Of a number, by the bits of the output."""

PER_NUMBER = {8: 50.0, 16: 90.0}
"""Instructions that fetch one: 33 and 63 of Mesa's vc4 compiler, and what fetches wait."""

Rows = Mapping[str, NDArray[np.floating]]


MOST_ADDED = 1000.0
"""The largest number that is added to what is stored: in 24 bits it is off by less than a 65th of a step of 8 bits."""


def pays(
    numbers: Rows, bits: int, pixels: int, draws_saved: int, draw_cost: float, added: Collection[str] = ()
) -> bool:
    """Return whether a texture is faster than a draw for each slice, and as exact.

    Args:
        numbers: what differs between slices, (slices, 4) each, by name.
        bits: of the output.
        pixels: that are drawn of a slice, second tiles included.
        draws_saved: by the texture.
        draw_cost: microseconds of a draw.
        added: those that are added to what is stored, or a texel times; others are factors of more.
    """
    slices = len(next(iter(numbers.values())))
    if TEXELS[bits] * len(numbers) > MAX_TEXTURE_SIZE or slices > MAX_TEXTURE_SIZE:
        return False
    slower = PER_NUMBER[bits] * len(numbers) * pixels * slices / INSTRUCTIONS
    exact = (np.abs(rows).max() <= MOST_ADDED if name in added else _alike(rows) for name, rows in numbers.items())
    return slower < draws_saved * draw_cost and all(exact)


def draws_saved(target: FeatureMap, read: Sequence[Sequence[object]], times: int, *, last_alone: bool = True) -> int:
    """Return how many draws a texture saves.

    Args:
        target: what is drawn.
        read: what each slice reads; slices that read the same textures share a draw.
        times: how often a slice is drawn; see ``Builder.times``.
        last_alone: whether a last slice with unused lanes has a shader of its own.
    """
    kinds = len({(view.texture, *textures) for view, textures in zip(target.views, read)})
    return times * (len(target.views) - kinds - (last_alone and target.channels % 4 > 0))


def pack(numbers: Rows, bits: int) -> tuple[NDArray[np.uint8], dict[str, list[float]]]:
    """Return texels (slices, texels, 4) for an output of so many bits, and the uniforms with the numbers' units."""
    columns, units = [], {}
    middle = 1 << 8 * TEXELS[bits] - 1
    for name, rows in numbers.items():
        unit = float(unit_of(float(np.abs(rows).max()), middle - 1))
        whole = np.clip(np.floor(rows / unit + 0.5), 1 - middle, middle - 1).astype(np.int64) + middle
        columns += [whole >> 8 * byte & 255 for byte in reversed(range(TEXELS[bits]))]
        units[f"{name}_unit"] = [255.0 * unit]
    return np.stack(columns, axis=1).astype(np.uint8), units


def read(texels: bytes, units: Sequence[float], slices: int) -> NDArray[np.float64]:
    """Return the numbers (slices, numbers, 4) of a texture's member and the uniforms of their units.

    Raises:
        ValueError: it is no such texture.
    """
    rows = np.frombuffer(texels, np.uint8).reshape(slices, len(units), -1, 4).astype(np.float64)
    count = rows.shape[2]
    whole = rows.transpose(0, 1, 3, 2) @ 256.0 ** np.arange(count)[::-1] - (1 << 8 * count - 1)
    numbers: NDArray[np.float64] = whole * (np.array(units) / 255.0)[:, None]
    return numbers


def declarations(numbers: Rows) -> list[str]:
    """Return the GLSL lines that declare the units."""
    return [f"uniform float {name}_unit;" for name in numbers]


def lines(numbers: Iterable[str], bits: int, binding: Binding, wait: Callable[[str], str] = str) -> list[str]:
    """Return the GLSL lines that define a vec4 for each number, with its name.

    Args:
        numbers: their names.
        bits: of the output.
        binding: of the draw.
        wait: makes of a coordinate one that waits for what the shader has to do first.
    """
    made: list[str] = []
    texels = TEXELS[bits]
    for at, name in enumerate(numbers):
        places = (wait(binding.place(ROLE, tap=(texels * at + byte, 0))) for byte in range(texels))
        high, *others = (f"texture2D({binding.sampler(ROLE)}, {place})" for place in places)
        if bits == 16:  # a byte that is off by a rounding would be off by more than the last one
            made += [f"vec4 {name} = (floor({high} * 255.0 + 0.5) - 128.0) * (16777216.0 / 255.0);"]
        else:
            made += [f"vec4 {name} = ({high} - 128.0 / 255.0) * 65536.0;"]
        made += [f"{name} += {other} * {256.0 ** (len(others) - 1 - k)};" for k, other in enumerate(others)]
        made += [f"{name} *= {name}_unit;"]
    return made


def uniforms_of(numbers: Rows, index: int) -> dict[str, Sequence[float]]:
    """Return the same numbers of a slice as uniforms."""
    return {name: rows[index].tolist() for name, rows in numbers.items()}


def _alike(rows: NDArray[np.floating]) -> bool:
    """Return whether 24 bits of the largest number are enough for the smallest."""
    sizes = np.abs(rows[rows != 0.0])
    return not len(sizes) or bool(sizes.max() <= fold.MOST_RATIO * sizes.min())
