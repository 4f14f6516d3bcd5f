"""Where a layer's weights go: into the text of shaders, into uniform arrays, or into a texture.

    baked     constants in the text: a draw and a program for each output slice
    uniform   an array: a draw for each slice, each with its upload; layers of one shape share a program
    texture   one draw for all slices; the GPU fetches every weight, which costs it several times the instructions

``auto`` takes what a Raspberry Pi Zero W would be through with first by the model below, whose numbers are all here.
In microseconds a frame, for n slices of p pixels each and c columns of weights (a vec4 for each input channel of each
tap):

    baked     n * DRAW            + n * p * instructions(c) / INSTRUCTIONS + n * COMPILE / FRAMES
    uniform   n * (DRAW + UPLOAD) + n * p * instructions(c) / INSTRUCTIONS + COMPILE / FRAMES
              (an array of more than CALIBRATED vec4 takes VECTOR longer for each)
    texture   DRAW                + n * p * instructions(c) / INSTRUCTIONS + COMPILE / FRAMES


A program of more than ``LONG_PROGRAM`` instructions takes longer than ``COMPILE``.

Other GPUs have other numbers, and much the same choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from glsl_infer.errors import InputError
from glsl_infer.program import WeightsChoice

WEIGHTS_MODES = ("auto", "baked", "uniform", "texture")
"""``auto`` is the cheapest of the others for each layer."""

MODES = WEIGHTS_MODES[1:]
"""Those that have a cost."""

INSTRUCTIONS = 12_000.0
"""Instructions times pixels in a microsecond: 12 processors, 4 pixels a cycle each, 250 MHz."""

COLUMN: Mapping[str, float] = {"baked": 5.0, "uniform": 5.0, "texture": 20.5, "bytes": 10.5}
"""Instructions for a column of weights, its share of the texel's fetch included; read off Mesa's vc4 compiler ..."""

FIXED: Mapping[str, float] = {"baked": 25.0, "uniform": 25.0, "texture": 110.0, "bytes": 65.0}
"""... and for the rest of a shader. ``bytes`` are weights of 8 bits in a texture, ``texture`` those of 16."""

PAIRS_COLUMN, PAIRS_FIXED = {8: 14.2, 16: 25.0}, 50.0
"""The same of two columns and two output channels (``weight_pairs``), by the bits of a weight."""

DEPTHWISE_COLUMN: Mapping[str, float] = {"baked": 8.0, "uniform": 8.0, "texture": 25.0, "bytes": 15.5}
"""The same where each column meets a texel of its own."""

FINE_COLUMN = (2.0, 6.0)
"""Instructions that a fetch of 16 bits adds to a column of weights, of four to a texel and of a depthwise layer."""

FINE_STORE, FINE_RESIDUAL = 44.0, 20.0
"""Instructions that a fragment takes longer to store 16 bits, and to add a residual of 16 bits."""

DRAW = 95.0
"""Microseconds of the CPU for a draw without a job of its own: the share of the article's time that
``estimate.DRAW_SHARE`` assumes. Counted are 14,400 ARM instructions in user space (scripts/vc4/arm/count), 21 us at 0.7
a clock; the kernel's part nobody knows. ``glsl-infer vc4 --time`` gives MobileNet 1.0 554, 471 and 438 ms where this is
95, 45 and 25, and 589, 553 and 544 if a draw does cost 95: a fetch waits longer than its share of ``COLUMN``."""

LEAST_DRAW, MOST_DRAW = 1.0, 10_000.0
"""What may be said instead."""

UPLOAD = 5.0
"""Microseconds of the CPU to upload a uniform array: an estimate. The count of a draw has its uploads."""

CALIBRATED, VECTOR = 100, 0.18
"""Vec4 of an array that ``DRAW`` holds already, for it was calibrated on draws with such; and the microseconds of each
vec4 more. Under QEMU, Mesa's driver takes 12,600 ARM instructions a draw, 33,900 a job, and 2.4 for each byte of its
commands, in which every vec4 is written again: these three numbers give what four models take to 0.5 %."""

COMPILE = 300_000.0
"""Microseconds to compile a program: 8 ms on a workstation, by some 40 for this CPU; an estimate. Counted are some 100
million ARM instructions a program of X22, both compilers together: 140,000 us at 0.7 a clock."""

FRAMES = 1000
"""Frames over which a start is spread."""

UNIFORM_VECTORS = 216
"""The longest uniform array, unless the person who exports says otherwise: nearly all phones have 224 vec4 in all, and
some are for other things. Mesa's vc4 has 4095, llvmpipe 4096, NVIDIA's driver and most of WebGL 1024 and more; a Pi's
driver before Mesa has 136. ES 2.0 promises 16, which no network of ours could do with."""

LEAST_ARRAY, LONGEST_ARRAY = 64, 3500
"""What may be said: fewer make partial sums of everything, and a text that reads more is longer than a reader takes."""

LONG_ARRAY = 1000
"""The longest where uniform arrays are asked for by name: what drivers of desktops and of the Pi have."""

MOST_BAKED = 2000
"""Most columns of constants in a text: a column takes some 117 bytes, and a reader takes texts of 256 KiB."""

MOST_CONSTANTS = 300_000
"""Most columns of constants in all texts together. A reader takes texts of 4 million operations (``all_written`` of
bundle/format.json), of which a column has some 10; networks with more get longer uniform arrays."""

LONG_PROGRAM, LENGTH_POWER = 1650.0, 2.5
"""Instructions from which a program takes longer than ``COMPILE``, and how it grows. Mesa's vc4 compiler took
8 ms for 173, 30 for 2,800, 300 for 5,800, 1,400 for 11,300 and 4,000 for 18,500 on a workstation."""

WINDOW_READS = 6
"""Most input slices, the residual's included, that have a coordinate each in a window of several texels whose weights
lie in a texture. With more, tiles of a texture share one (``conv_draws``).

Each coordinate is needed to the end. Mesa's vc4 compiler has registers for 6 of them with every window tried: 3x3 over
24 channels has 216 columns of weights, 4x4 over 20 has 320. With 7 and 8 it depends: 2x2 over 7 and 1x2 over 8 compile,
3x3 over 7 and 2x2 over 8 (128 columns) do not, and a residual counts as one more. So columns are not what is short. A
1x1 window takes each coordinate once, and may read 8 slices and a residual. tests/vc4/test_registers.py has the cases.
"""

FINE_WINDOW_READS, FINE_READS = 4, 6
"""The same of slices of 16 bits that meet weights of 16 bits in a texture, in a window of several texels and of one. A
slice more takes two registers: 3x3 over 4 slices takes all 34, 1x1 over 6 takes 31; 3x3 over 5 and 1x1 over 8 do not
compile, nor does 3x3 over 4 that stores 16 bits. Windows of one texel over more slices share a coordinate."""


@dataclass(frozen=True)
class LayerWeights:
    """What the choice depends on.

    Attributes:
        name: the graph node's.
        slices: output slices, each drawn for itself unless the weights lie in a texture.
        pixels: of one slice.
        columns: vec4 of weights for a slice, the bias apart.
        vectors: vec4 of the uniform array.
        untextured: why its weights cannot lie in a texture; empty if they can.
        bits: of a weight in a texture, 8 or 16.
        depthwise: whether a column's weights meet a lane each.
        texels: columns of weights where they lie in a texture; 0: as many as ``columns``.
        textures: how many hold them then, each with a draw of its own.
        numbers: how many numbers for each channel the activation and the range have. They lie behind the weights.
        in_pairs: whether two output channels have a row in a texture, and ``texels`` are of two columns each.
    """

    name: str
    slices: int
    pixels: int
    columns: int
    vectors: int
    untextured: str = ""
    bits: int = 16
    depthwise: bool = False
    texels: int = 0
    textures: int = 1
    numbers: int = 0
    in_pairs: bool = False


@dataclass(frozen=True)
class Cost:
    """What a frame costs.

    Attributes:
        work: instructions times pixels about.
        draws: how many.
    """

    work: float
    draws: int

    def over(self, other: Cost) -> tuple[float, float]:
        """Return how many times the work and the draws of another cost this is."""
        return self.work / max(other.work, 1.0), self.draws / max(other.draws, 1)


def longest_array(wanted: str, uniform_vectors: int) -> int:
    """Return the vec4 of the longest uniform array for one of ``WEIGHTS_MODES`` and what the target is said to have."""
    return max(uniform_vectors, LONG_ARRAY) if wanted == "uniform" else uniform_vectors


def instructions(mode: str, layer: LayerWeights) -> float:
    """Return the instructions of a layer's program by a mode that has a cost."""
    if mode == "texture" and layer.in_pairs:
        return PAIRS_FIXED + PAIRS_COLUMN[layer.bits] * (layer.texels + 2 * layer.numbers)
    kind = "bytes" if mode == "texture" and layer.bits == 8 else mode
    columns = layer.texels or layer.columns if mode == "texture" else layer.columns
    numbers = layer.numbers * {"bytes": 3, "texture": 2}.get(kind, 0) * COLUMN[kind]
    return float(FIXED[kind] + (DEPTHWISE_COLUMN if layer.depthwise else COLUMN)[kind] * columns + numbers)


def work(layer: LayerWeights, mode: str) -> float:
    """Return about how many instructions times pixels a layer takes."""
    return layer.slices * layer.pixels * instructions(mode, layer)


def fine_work(layer: LayerWeights, *, reads: bool, adds: bool, stores: bool) -> float:
    """Return about how many instructions times pixels it adds that maps of a layer have 16 bits.

    Args:
        layer: with the fragments that it is drawn with.
        reads: whether what its weights meet has them.
        adds: whether a residual has them.
        stores: whether it has them itself.
    """
    each = reads * layer.columns * FINE_COLUMN[layer.depthwise] + adds * FINE_RESIDUAL + stores * FINE_STORE
    return layer.slices * layer.pixels * each


def compile_cost(length: float) -> float:
    """Return the microseconds of the CPU to compile a program of so many instructions, spread over ``FRAMES``."""
    return COMPILE * float(max(1.0, (length / LONG_PROGRAM) ** LENGTH_POWER)) / FRAMES


def longer_array(choices: Iterable[WeightsChoice], uniform_vectors: int) -> int | None:
    """Return the longest uniform array to try where choices make more text than a reader takes; None where not."""
    constants = sum(choice.slices * choice.columns for choice in choices if choice.mode == "baked")
    longer = next((length for length in (LONG_ARRAY, LONGEST_ARRAY) if length > uniform_vectors), None)
    return longer if constants > MOST_CONSTANTS else None


def costs(layer: LayerWeights, uniform_vectors: int = UNIFORM_VECTORS, draw: float = DRAW) -> dict[str, float]:
    """Return the microseconds a frame of each mode that the layer can have; ``draw``: see ``DRAW``."""
    work = {mode: layer.slices * layer.pixels * instructions(mode, layer) / INSTRUCTIONS for mode in MODES}
    program = {mode: compile_cost(instructions(mode, layer)) for mode in MODES}
    draws = {
        "baked": layer.slices * (draw + program["baked"]),
        "uniform": layer.slices * (draw + UPLOAD + VECTOR * max(layer.vectors - CALIBRATED, 0)) + program["uniform"],
        "texture": layer.textures * draw + program["texture"],
    }
    cost_of = {mode: draws[mode] + work[mode] for mode in work}
    if layer.vectors > uniform_vectors:
        del cost_of["uniform"]
    if layer.untextured:
        del cost_of["texture"]
    if layer.columns > MOST_BAKED and len(cost_of) > 1:
        del cost_of["baked"]
    return cost_of


def choose(
    layer: LayerWeights,
    wanted: str,
    alone: str | None = None,
    uniform_vectors: int = UNIFORM_VECTORS,
    draw: float = DRAW,
) -> WeightsChoice:
    """Return where the weights of a layer go.

    Args:
        layer: what they are.
        wanted: one of ``WEIGHTS_MODES``. Those layers are excepted that cannot have it.
        alone: what is wanted for this layer, whatever is for all.
        uniform_vectors: the longest uniform array, where those are not asked for.
        draw: microseconds of a draw.

    Raises:
        InputError: ``alone`` is a texture or an array, and the layer cannot have it.
    """
    longest = longest_array(wanted, uniform_vectors)
    cost_of = costs(layer, longest, draw)
    if alone == "texture" and alone not in cost_of:
        raise InputError(f"layer '{layer.name}' cannot have its weights in a texture: {layer.untextured}")
    if alone == "uniform" and layer.vectors > LONGEST_ARRAY:
        raise InputError(
            f"layer '{layer.name}' cannot have its weights in a uniform array: {layer.vectors} vec4, and a shader can "
            f"have {LONGEST_ARRAY}"
        )
    if alone is not None and alone != "auto":
        mode, why = alone, f"asked for by --weights-for {layer.name}={alone}"
    elif alone is None and wanted in cost_of:
        mode, why = wanted, f"asked for by --weights {wanted}"
    else:
        mode = min(cost_of, key=lambda known: cost_of[known])
        why = _reason(layer, cost_of, mode, longest, draw)
    return WeightsChoice(
        layer.name,
        mode,
        layer.slices,
        layer.pixels,
        layer.columns,
        {known: cost_of.get(known) for known in MODES},
        why,
    )


def _reason(layer: LayerWeights, cost_of: Mapping[str, float], mode: str, uniform_vectors: int, draw: float) -> str:
    """Return why a mode is the best for a layer, in a person's words."""
    if mode == "texture":
        fewer = layer.slices - layer.textures
        saved = fewer * draw
        return f"{fewer} draws less save {saved:.0f} us, weights by texel cost {_extra(layer):.0f} us"
    missing = []
    if layer.vectors > uniform_vectors:
        missing.append(f"an array of {layer.vectors} vec4 is longer than {uniform_vectors}")
    if layer.untextured:
        missing.append(f"no texture: {layer.untextured}")
    if "texture" in cost_of:
        saved = (layer.slices - layer.textures) * draw
        missing.append(f"weights by texel would cost {_extra(layer):.0f} us, draws saved {saved:.0f} us")
    return "; ".join(missing)


def _extra(layer: LayerWeights) -> float:
    """Return the microseconds that the GPU takes longer with weights from a texture."""
    more = instructions("texture", layer) - instructions("uniform", layer)
    return layer.slices * layer.pixels * more / INSTRUCTIONS
