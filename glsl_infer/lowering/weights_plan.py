"""Where a layer's weights go: into the text of shaders, into uniform arrays, or into a texture.

    baked     constants in the text: a draw and a program for each output slice
    uniform   an array: a draw for each slice, each with its upload; layers of one shape share a program
    texture   one draw for all slices; the GPU fetches every weight, which costs it several times the instructions

``auto`` takes what a Raspberry Pi Zero W would be through with first by the model below, whose numbers are all here.
In microseconds a frame, for n slices of p pixels each and c columns of weights (a vec4 for each input channel of each
tap):

    baked     n * DRAW            + n * p * instructions(c) / INSTRUCTIONS + n * COMPILE / FRAMES
    uniform   n * (DRAW + UPLOAD) + n * p * instructions(c) / INSTRUCTIONS + COMPILE / FRAMES
    texture   DRAW                + n * p * instructions(c) / INSTRUCTIONS + COMPILE / FRAMES

Other GPUs have other numbers, and much the same choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from glsl_infer.errors import InputError
from glsl_infer.program import WeightsChoice

WEIGHTS_MODES = ("auto", "baked", "uniform", "texture")
"""``auto`` is the cheapest of the others for each layer."""

INSTRUCTIONS = 12_000.0
"""Instructions times pixels in a microsecond: 12 processors, 4 pixels a cycle each, 250 MHz."""

COLUMN: Mapping[str, float] = {"baked": 5.0, "uniform": 5.0, "texture": 20.0}
"""Instructions for a column of weights, its share of the texel's fetch included; read off Mesa's vc4 compiler ..."""

FIXED: Mapping[str, float] = {"baked": 32.0, "uniform": 32.0, "texture": 160.0}
"""... and for the rest of a shader. X22's three kinds take 198, 221 and 386, from a texture 781, 904 and 1624."""

DRAW = 95.0
"""Microseconds of the CPU for a draw without a job of its own: calibrated in ``vc4.estimate``, an estimate."""

UPLOAD = 5.0
"""Microseconds of the CPU to upload a uniform array: an estimate."""

COMPILE = 300_000.0
"""Microseconds to compile a program: 8 ms on a workstation, by some 40 for this CPU; an estimate."""

FRAMES = 1000
"""Frames over which a start is spread."""

UNIFORM_VECTORS = 120
"""The longest uniform array: an older Pi driver has 136 vec4 in all, and some are for other things."""

WINDOW_READS = 6
"""Most input slices, the residual's included, of a window of several texels whose weights lie in a texture.

Each slice has a coordinate of its own, which is needed to the end. Mesa's vc4 compiler has registers for 6 of them with
every window tried: 3x3 over 24 channels has 216 columns of weights, 4x4 over 20 has 320. With 7 and 8 it depends: 2x2
over 7 and 1x2 over 8 compile, 3x3 over 7 and 2x2 over 8 (128 columns) do not, and a residual counts as one more. So
columns are not what is short. A 1x1 window takes each coordinate once, and may read 8 slices and a residual.
tests/vc4/test_registers.py has the cases.
"""


@dataclass(frozen=True)
class Layer:
    """What the choice depends on.

    Attributes:
        name: the graph node's.
        slices: output slices, each drawn for itself unless the weights lie in a texture.
        pixels: of one slice.
        columns: vec4 of weights for a slice, the bias apart.
        vectors: vec4 of the uniform array.
        untextured: why its weights cannot lie in a texture; empty if they can.
    """

    name: str
    slices: int
    pixels: int
    columns: int
    vectors: int
    untextured: str = ""


def costs(layer: Layer) -> dict[str, float]:
    """Return the microseconds a frame of each mode that the layer can have."""
    work = {
        mode: layer.slices * layer.pixels * (FIXED[mode] + COLUMN[mode] * layer.columns) / INSTRUCTIONS
        for mode in COLUMN
    }
    draws = {
        "baked": layer.slices * (DRAW + COMPILE / FRAMES),
        "uniform": layer.slices * (DRAW + UPLOAD) + COMPILE / FRAMES,
        "texture": DRAW + COMPILE / FRAMES,
    }
    found = {mode: draws[mode] + work[mode] for mode in work}
    if layer.vectors > UNIFORM_VECTORS:
        del found["uniform"]
    if layer.untextured:
        del found["texture"]
    return found


def choose(layer: Layer, wanted: str, alone: str | None = None) -> WeightsChoice:
    """Return where the weights of a layer go.

    Args:
        layer: what they are.
        wanted: one of ``WEIGHTS_MODES``. ``baked`` and ``uniform`` are pure forms; of ``texture`` those layers are
            excepted that cannot have it.
        alone: what is wanted for this layer, whatever is for all.

    Raises:
        InputError: ``alone`` is a texture, and the layer cannot have it.
    """
    found = costs(layer)
    if alone == "texture" and alone not in found:
        raise InputError(f"layer '{layer.name}' cannot have its weights in a texture: {layer.untextured}")
    if alone is not None and alone != "auto":
        mode, why = alone, f"asked for by --weights-for {layer.name}={alone}"
    elif alone is None and wanted in ("baked", "uniform"):
        mode, why = wanted, f"asked for by --weights {wanted}"
    elif alone is None and wanted in found:
        mode, why = wanted, "asked for by --weights texture"
    else:
        mode = min(found, key=lambda one: found[one])
        why = _reason(layer, found, mode)
    return WeightsChoice(
        layer.name, mode, layer.slices, layer.pixels, layer.columns, {one: found.get(one) for one in COLUMN}, why
    )


def _reason(layer: Layer, found: Mapping[str, float], mode: str) -> str:
    """Return why a mode is the best for a layer, in a person's words."""
    if mode == "texture":
        saved = (layer.slices - 1) * DRAW
        return f"{layer.slices - 1} draws less save {saved:.0f} us, weights by texel cost {_extra(layer):.0f} us"
    missing = []
    if layer.vectors > UNIFORM_VECTORS:
        missing.append(f"an array of {layer.vectors} vec4 is longer than {UNIFORM_VECTORS}")
    if layer.untextured:
        missing.append(f"no texture: {layer.untextured}")
    if "texture" in found:
        saved = (layer.slices - 1) * DRAW
        missing.append(f"weights by texel would cost {_extra(layer):.0f} us, draws saved {saved:.0f} us")
    return "; ".join(missing)


def _extra(layer: Layer) -> float:
    """Return the microseconds that the GPU takes longer with weights from a texture."""
    more = FIXED["texture"] - FIXED["uniform"] + (COLUMN["texture"] - COLUMN["uniform"]) * layer.columns
    return layer.slices * layer.pixels * more / INSTRUCTIONS
