"""Shaders for feature maps of 16 bits, made from those for 8: operators write one text, whatever they read and store.

A texel of such a map is read by two fetches and put together at once, in the unit of a texel of 8 bits
(shaders/fine.glsl). A slice is stored twice, each time two channels of it (shaders/store_fine.glsl). Small maps take
one draw for both tiles, which a coordinate tells apart: a draw costs a CPU more than some thousand pixels a GPU. Large
ones take two, and what the shader computes for the other two channels no compiler keeps. Convolutions with weights in a
texture do without both (``weight_pairs``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from glsl_infer.errors import ModelError
from glsl_infer.lowering.codegen import PLANNED, coordinate
from glsl_infer.support.resources import template

HALVES = ("y.xy", "y.zw")
"""The channels of a slice that each of its two draws stores."""

ONE_DRAW = 64 * 64
"""Most pixels of a map whose two tiles are drawn at once: what a draw costs (``weights_plan.DRAW``) for some 280
instructions more at each."""

LOWER_FROM = "lower_from"
"""The uniform that says from which coordinate on a draw of both tiles stores channels 2 and 3."""

_WAIT = "#define WAIT(at) max(at, sum.w)"
"""How a convolution's fetches wait for its sum (shaders/convolution.frag)."""

_WAIT_FOR_ALL = "#define WAIT(at) max(at, min(min(sum.x, sum.y), sum.w))"
"""How they do where channels 0 and 1 are stored, which the sum's fourth component is not made of. Mesa's vc4 compiler
puts off what no fetch waits for: two components put off had too few registers in most windows, 3x3 over 4 slices among
them. The smallest of all is as small as the fourth, so that this stays a coordinate for what that is kept small by."""

_FETCH = "texture2D("
_ROUNDED = ("floor(", " * 255.0 + 0.5)")
"""What is around a fetch whose bytes are taken as whole numbers."""


def at_once(shape: Sequence[int]) -> bool:
    """Return whether both tiles of a slice of a map (height, width, channels) of 16 bits are drawn at once."""
    return shape[0] * shape[1] <= ONE_DRAW


def down(sampler: str) -> str:
    """Return the name of the uniform that says how far down the second tile lies, in texture coordinates."""
    return f"{sampler}_down"


@lru_cache(maxsize=64)  # slices of a layer often share their shader
def reading(fragment: str, samplers: frozenset[str]) -> str:
    """Return the shader that reads maps of 16 bits by some of its samplers."""
    if fragment == PLANNED:
        return fragment
    text = _replaced(fragment, samplers)
    declared = "".join(f"uniform float {down(name)};\n" for name in sorted(samplers) if f" {down(name)}," in text)
    return f"{declared}{template('fine.glsl')}{text}"


@lru_cache(maxsize=64)
def storing(layer: str, fragment: str, half: str) -> str:
    """Return the shader that stores a part of a slice of 16 bits, two channels ``y``: one of ``HALVES``, say.

    Raises:
        ModelError: it stores no feature map by ``store.glsl``.
    """
    if fragment == PLANNED:
        return fragment
    plain = template("store.glsl").rstrip("\n")
    if plain not in fragment:
        raise ModelError.layer(layer, "an output in 16 bits of an operator that stores 8 alone", "keep it in 8 bits")
    fine = template("store_fine.glsl").rstrip("\n")
    text = fragment.replace(plain, fine.replace("return y.xy;", f"return {half};", 1), 1)
    return text.replace(_WAIT, _WAIT_FOR_ALL, 1) if half == HALVES[0] else text


def storing_either(layer: str, fragment: str, source: int) -> str:
    """Return the shader that stores the half that coordinate number ``source`` asks for; see ``storing``."""
    varying, lanes = coordinate(source).split(".")
    text = storing(layer, fragment, f"{varying}.{lanes[1]} > {LOWER_FROM} ? y.zw : y.xy")
    if text == PLANNED:
        return text
    others = re.sub(rf"^varying vec4 {varying};.*\n", "", text, flags=re.MULTILINE)  # it may stand below the store
    return f"varying vec4 {varying};\nuniform float {LOWER_FROM};\n{others}"


def _replaced(text: str, samplers: Collection[str]) -> str:
    """Return a text with every fetch by some samplers replaced by that of both tiles."""
    made, rest = "", text
    while True:
        before, fetch, behind = rest.partition(_FETCH)
        made += before
        if not fetch:
            return made
        sampler, comma, _ = behind.partition(",")
        rest = behind
        if not comma or sampler not in samplers:
            made += fetch
            continue
        end = _closing(behind)
        place, rest = _replaced(behind[len(sampler) + 1 : end], samplers), behind[end + 1 :]
        function = "fine"
        if made.endswith(_ROUNDED[0]) and rest.startswith(_ROUNDED[1]):
            function = "fine_bytes"
            made, rest = made[: -len(_ROUNDED[0])], rest[len(_ROUNDED[1]) :]
        made += f"{function}({sampler}, {down(sampler)},{place})"


def _closing(text: str) -> int:
    """Return where the parenthesis is closed that was opened before the text."""
    depth = 1
    for index, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if not depth:
            return index
    raise ValueError("a fetch without an end")
