"""Convert shaders for 8-bit feature maps to shaders that read or store 16-bit maps.

Operators write one text for both. A 16-bit texel is read by two fetches, which are combined in units of an 8-bit texel
(shaders/fine.glsl). A slice is stored by two stores of two channels (shaders/store_fine.glsl). Small maps have one draw
for both tiles, distinguished by a coordinate, because a draw costs the CPU more than some thousand pixels cost the GPU.
Large maps have two draws, and compilers remove the computation of the other two channels. Convolutions with weights in
a texture use neither (``weight_pairs``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from glsl_infer.errors import ModelError
from glsl_infer.lowering.codegen import coordinate
from glsl_infer.support.resources import template

HALVES = ("y.xy", "y.zw")
"""Channels of a slice stored by the first and the second draw."""

ONE_DRAW = 64 * 64
"""Largest number of pixels of a map whose two tiles are drawn at once. Some 280 more instructions for each pixel then
cost as much as a draw (``weights_plan.DRAW``)."""

LOWER_FROM = "lower_from"
"""Uniform with the coordinate from which a draw of both tiles stores channels 2 and 3."""

_WAIT = "#define WAIT(at) max(at, sum.w)"
"""Macro by which a convolution's fetches wait for its sum (shaders/convolution.frag)."""

_WAIT_FOR_ALL = "#define WAIT(at) max(at, min(min(sum.x, sum.y), sum.w))"
"""The same macro if channels 0 and 1 are stored, which do not depend on the sum's fourth component. Mesa's vc4 compiler
postpones computations that no fetch waits for; with two such components most windows need too many registers, 3x3 over
4 slices among them. The minimum is bounded by the fourth component, so it remains negligible compared with a
coordinate."""

_FETCH = "texture2D("
_ROUNDED = ("floor(", " * 255.0 + 0.5)")
"""Text around a fetch whose bytes are used as integers."""


def at_once(shape: Sequence[int]) -> bool:
    """Return whether both tiles of a slice of a 16-bit map (height, width, channels) are drawn at once."""
    return shape[0] * shape[1] <= ONE_DRAW


def down(sampler: str) -> str:
    """Return the name of the uniform with the distance to the second tile in texture coordinates."""
    return f"{sampler}_down"


@lru_cache(maxsize=64)  # slices of a layer often share their shader
def reading(fragment: str, samplers: frozenset[str]) -> str:
    """Convert a shader to read 16-bit maps through some of its samplers."""
    converted = _replaced(fragment, samplers)
    declared = "".join(f"uniform float {down(name)};\n" for name in sorted(samplers) if f" {down(name)}," in converted)
    return f"{declared}{template('fine.glsl')}{converted}"


@lru_cache(maxsize=64)
def storing(layer: str, fragment: str, half: str) -> str:
    """Convert a shader to store half of a 16-bit slice.

    Args:
        layer: name of the layer, for messages.
        fragment: text of the shader.
        half: expression of the two channels of ``y`` to store, such as one of ``HALVES``.

    Raises:
        ModelError: the shader does not store a feature map with ``store.glsl``.
    """
    store_8bit = template("store.glsl").rstrip("\n")
    if store_8bit not in fragment:
        raise ModelError.layer(layer, "an output in 16 bits of an operator that stores 8 alone", "keep it in 8 bits")
    store_16bit = template("store_fine.glsl").rstrip("\n").replace("return y.xy;", f"return {half};", 1)
    converted = fragment.replace(store_8bit, store_16bit, 1)
    return converted.replace(_WAIT, _WAIT_FOR_ALL, 1) if half == HALVES[0] else converted


def storing_either(layer: str, fragment: str, source: int) -> str:
    """Convert a shader to store the half selected by coordinate number ``source``; otherwise as ``storing``."""
    varying, lanes = coordinate(source).split(".")
    converted = storing(layer, fragment, f"{varying}.{lanes[1]} > {LOWER_FROM} ? y.zw : y.xy")
    # The declaration must precede the store, but can follow it in the text.
    without_varying = re.sub(rf"^varying vec4 {varying};.*\n", "", converted, flags=re.MULTILINE)
    return f"varying vec4 {varying};\nuniform float {LOWER_FROM};\n{without_varying}"


def _replaced(text: str, samplers: Collection[str]) -> str:
    """Replace the fetches through some samplers by fetches from both tiles."""
    result, remaining = "", text
    while True:
        before, fetch, after_name = remaining.partition(_FETCH)
        result += before
        if not fetch:
            return result
        sampler, comma, _ = after_name.partition(",")
        remaining = after_name
        if not comma or sampler not in samplers:
            result += fetch
            continue
        end = _closing(after_name)
        coordinate_text, remaining = _replaced(after_name[len(sampler) + 1 : end], samplers), after_name[end + 1 :]
        function = "fine"
        if result.endswith(_ROUNDED[0]) and remaining.startswith(_ROUNDED[1]):
            function = "fine_bytes"
            result, remaining = result[: -len(_ROUNDED[0])], remaining[len(_ROUNDED[1]) :]
        result += f"{function}({sampler}, {down(sampler)},{coordinate_text})"


def _closing(text: str) -> int:
    """Return the index of the parenthesis that closes one opened before the text."""
    depth = 1
    for index, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if not depth:
            return index
    raise ValueError("a fetch without an end")
