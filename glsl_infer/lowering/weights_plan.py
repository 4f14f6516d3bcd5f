"""Choose the storage of a layer's weights: constants in shaders, uniform arrays, or a texture.

    baked     constants: a draw and a program for each output slice
    uniform   an array: a draw and an upload for each slice; layers of the same shape share a program
    texture   one draw for all slices; the GPU fetches the weights, with several times the instructions

``auto`` picks the mode with the lowest estimated frame time on a Raspberry Pi Zero W. In microseconds a frame, for n
slices of p pixels each and c columns of weights (a vec4 for each input channel of each tap):

    baked     n * DRAW            + n * p * instructions(c) / INSTRUCTIONS + n * COMPILE / FRAMES
    uniform   n * (DRAW + UPLOAD) + n * p * instructions(c) / INSTRUCTIONS + COMPILE / FRAMES
              (an array of more than CALIBRATED vec4 takes VECTOR longer for each)
    texture   DRAW                + n * p * instructions(c) / INSTRUCTIONS + COMPILE / FRAMES

A program with more than ``LONG_PROGRAM`` instructions takes longer than ``COMPILE``. Other GPUs have other constants,
but mostly the same best choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from glsl_infer.errors import InputError
from glsl_infer.program import WeightsChoice

WEIGHTS_MODES = ("auto", "baked", "uniform", "texture")
"""``auto`` is the cheapest of the other modes for each layer."""

MODES = WEIGHTS_MODES[1:]
"""Modes with a cost."""

INSTRUCTIONS = 12_000.0
"""Instructions times pixels for each microsecond: 12 processors, 4 pixels a cycle each, 250 MHz."""

COLUMN: Mapping[str, float] = {"baked": 5.0, "uniform": 5.0, "texture": 20.5, "bytes": 9.7}
"""Instructions for a column of weights, including its share of the texel's fetch, by Mesa's vc4 compiler.

``bytes`` are 8-bit weights in a texture, ``texture`` 16-bit weights. These take 18 instructions, but their fetches also
wait for texels. With 18, three more layers of X22 would have their weights in a texture. Its estimate would be the same
99 ms, and its simulated frame would take 169 ms instead of 163."""

FIXED: Mapping[str, float] = {"baked": 25.0, "uniform": 25.0, "texture": 110.0, "bytes": 62.0}
"""Instructions of a shader apart from its columns of weights."""

PAIRS_COLUMN = {8: 14.2, 16: 25.0}
"""Instructions for two columns and two output channels (``weight_pairs``), by the bits of a weight."""

PAIRS_FIXED = 50.0
"""Instructions of such a shader apart from its columns."""

DEPTHWISE_COLUMN: Mapping[str, float] = {"baked": 8.0, "uniform": 8.0, "texture": 22.5, "bytes": 14.0}
"""Instructions for a column of weights if each column multiplies a different texel."""

COLUMN_16_BITS = (2.0, 6.0)
"""Additional instructions of a 16-bit fetch for each column of weights: with four columns for a texel, and in a
depthwise layer."""

GATE = 9.5
"""Additional instructions of a column of weights whose texel is multiplied by gates: 38 for the four of a texel."""

STORE_16_BITS = 44.0
"""Additional instructions of a fragment to store 16 bits."""

RESIDUAL_16_BITS = 20.0
"""Additional instructions of a fragment to add a 16-bit residual."""

DRAW = 95.0
"""CPU time in microseconds of a draw that does not begin a job, from the share of the article's frame time that
``estimate.DRAW_SHARE`` assumes. User space takes 9,300 ARM instructions (scripts/vc4/arm/count), 13 us at 0.7 a clock;
the kernel's part is unknown. ``glsl-infer vc4 --time`` estimates MobileNet 1.0 at 554, 471 and 438 ms with this
constant at 95, 45 and 25, and at 589, 553 and 544 ms if a draw really costs 95, because the latency of a fetch exceeds
its share of ``COLUMN``."""

LEAST_DRAW = 1.0
"""Lowest accepted time of a draw in microseconds."""

MOST_DRAW = 10_000.0
"""Highest accepted time of a draw in microseconds."""

UPLOAD = 5.0
"""Estimated CPU time in microseconds to upload a uniform array. The instruction count of a draw includes its
uploads."""

CALIBRATED = 100
"""Vec4 of an array included in ``DRAW``, which was calibrated on such draws."""

VECTOR = 0.18
"""CPU time in microseconds for each further vec4 of an array.

Under QEMU, Mesa's driver takes 12,600 ARM instructions a draw, 33,900 a job, and 2.4 for each byte of its commands,
which contain all vec4. This constant and ``CALIBRATED`` reproduce the counts of four models within 0.5 %."""

COMPILE = 300_000.0
"""Estimated microseconds to compile a program: 8 ms on a workstation, times 40 for this CPU. Both compilers take some
100 million ARM instructions for a program of X22: 140,000 us at 0.7 a clock."""

FRAMES = 1000
"""Number of frames over which the cost of a start is spread."""

UNIFORM_VECTORS = 216
"""Default limit of a uniform array. Nearly all phones have 224 vec4, some of which have other uses. Mesa's vc4 has
4095, llvmpipe 4096, NVIDIA's driver and most WebGL implementations at least 1024; a Pi's driver before Mesa has 136. ES
2.0 guarantees 16, too few for practical networks."""

LEAST_ARRAY = 64
"""Lowest accepted limit of a uniform array. Smaller limits split every convolution into partial sums."""

LONGEST_ARRAY = 3500
"""Highest accepted limit of a uniform array. Larger ones exceed the longest text of readers."""

LONG_ARRAY = 1000
"""Limit if ``uniform`` is requested explicitly: the limit of desktop drivers and of the Pi."""

MOST_BAKED = 2000
"""Largest number of columns as constants in a shader: a column takes some 117 bytes, and readers accept texts of 256
KiB."""

MOST_CONSTANTS = 300_000
"""Largest number of columns as constants in all shaders together. Readers accept texts with 4 million operations
(``all_written`` of bundle/format.json), and a column has some 10; larger networks get longer uniform arrays."""

LONG_PROGRAM = 1650.0
"""Instructions above which a program takes longer than ``COMPILE``.

Mesa's vc4 compiler took 8 ms for 173 instructions, 30 for 2,800, 300 for 5,800, 1,400 for 11,300 and 4,000 for 18,500
on a workstation."""

LENGTH_POWER = 2.5
"""Exponent of the increase above ``LONG_PROGRAM``, from the same measurement."""

WINDOW_READS = 6
"""Largest number of input slices, including the residual's, with their own coordinate in a window of several texels
with weights in a texture. With more, tiles of a texture share a coordinate (``conv_draws``).

Each coordinate occupies a register to the end. With 16-bit weights, 3x3 over 6 slices takes 32 of the 34 registers of
Mesa's vc4 compiler, over 7 slices all 34, and over 8 it does not compile. A residual counts as one more. The number of
columns is not the limit: 3x3 over 24 channels has 216, and 4x4 over 20 has 320. A 1x1 window uses each coordinate once,
and can read 8 slices and a residual. tests/vc4/test_registers.py has the cases."""

WINDOW_READS_16_BITS = 4
"""``WINDOW_READS`` for 16-bit slices and 16-bit weights in a texture.

Each slice takes two more registers. 3x3 over 4 slices takes 32 of 34, over 5 slices 34, and over 6 it does not
compile."""

READS_16_BITS = 6
"""The same limit for a window of one texel.

1x1 over 6 slices takes 30 of 34 registers, and over 8 slices all 34. Windows over more slices share a coordinate."""


@dataclass(frozen=True)
class LayerWeights:
    """Properties of a layer that the choice depends on.

    Attributes:
        name: name of the graph node.
        slices: output slices, each with its own draw unless the weights are in a texture.
        pixels: pixels of a slice.
        columns: vec4 of weights of a slice, without the bias.
        vectors: vec4 of the uniform array.
        untextured: reason why the weights cannot be in a texture; empty if they can.
        bits: of a weight in a texture, 8 or 16.
        depthwise: whether each weight of a column multiplies its own lane.
        texels: columns of weights in a texture; 0 if equal to ``columns``.
        textures: number of textures of weights, each with its own draw.
        numbers: number of per-channel constants of the activation and the range, stored after the weights.
        in_pairs: whether two output channels have a row in the texture, with two columns in each of the ``texels``.
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
    """Estimated cost of a frame.

    Attributes:
        work: instructions times pixels.
        draws: number of draws.
    """

    work: float
    draws: int

    def microseconds(self, draw: float) -> float:
        """Return the estimated microseconds of a frame, from those of a draw."""
        return self.work / INSTRUCTIONS + self.draws * draw

    def over(self, other: Cost) -> tuple[float, float]:
        """Return the ratios to another cost: of work, and of draws."""
        return self.work / max(other.work, 1.0), self.draws / max(other.draws, 1)


def longest_array(requested: str, uniform_vectors: int) -> int:
    """Return the limit of uniform arrays in vec4, for one of ``WEIGHTS_MODES`` and the target's limit."""
    return max(uniform_vectors, LONG_ARRAY) if requested == "uniform" else uniform_vectors


def instructions(mode: str, layer: LayerWeights) -> float:
    """Return the number of instructions of a layer's program with a mode."""
    if mode == "texture" and layer.in_pairs:
        return PAIRS_FIXED + PAIRS_COLUMN[layer.bits] * (layer.texels + 2 * layer.numbers)
    storage = "bytes" if mode == "texture" and layer.bits == 8 else mode
    columns = layer.texels or layer.columns if mode == "texture" else layer.columns
    numbers = layer.numbers * {"bytes": 3, "texture": 2}.get(storage, 0) * COLUMN[storage]
    return float(FIXED[storage] + (DEPTHWISE_COLUMN if layer.depthwise else COLUMN)[storage] * columns + numbers)


def work(layer: LayerWeights, mode: str) -> float:
    """Return the estimated instructions times pixels of a layer."""
    return layer.slices * layer.pixels * instructions(mode, layer)


def sixteen_bit_work(layer: LayerWeights, *, reads: bool, adds: bool, stores: bool) -> float:
    """Return the estimated additional instructions times pixels due to 16-bit maps.

    Args:
        layer: the layer, with the fragments of its draws.
        reads: whether the input has 16 bits.
        adds: whether a residual has 16 bits.
        stores: whether the output has 16 bits.
    """
    instructions_per_pixel = (
        reads * layer.columns * COLUMN_16_BITS[layer.depthwise] + adds * RESIDUAL_16_BITS + stores * STORE_16_BITS
    )
    return layer.slices * layer.pixels * instructions_per_pixel


def compile_cost(length: float) -> float:
    """Return the CPU time in microseconds to compile a program with ``length`` instructions, spread over ``FRAMES``."""
    return COMPILE * float(max(1.0, (length / LONG_PROGRAM) ** LENGTH_POWER)) / FRAMES


def longer_array(choices: Iterable[WeightsChoice], uniform_vectors: int) -> int | None:
    """Return a longer limit of uniform arrays if the constants exceed the readers' limit, else None."""
    constants = sum(choice.slices * choice.columns for choice in choices if choice.mode == "baked")
    length = next((length for length in (LONG_ARRAY, LONGEST_ARRAY) if length > uniform_vectors), None)
    return length if constants > MOST_CONSTANTS else None


def costs(layer: LayerWeights, uniform_vectors: int = UNIFORM_VECTORS, draw: float = DRAW) -> dict[str, float]:
    """Return the microseconds a frame of each mode that the layer supports; ``draw`` replaces ``DRAW``."""
    gpu_time = {mode: layer.slices * layer.pixels * instructions(mode, layer) / INSTRUCTIONS for mode in MODES}
    compile_time = {mode: compile_cost(instructions(mode, layer)) for mode in MODES}
    uniform_draw = draw + UPLOAD + VECTOR * max(layer.vectors - CALIBRATED, 0)
    cpu_time = {
        "baked": layer.slices * (draw + compile_time["baked"]),
        "uniform": layer.slices * uniform_draw + compile_time["uniform"],
        "texture": layer.textures * draw + compile_time["texture"],
    }
    cost_of = {mode: cpu_time[mode] + gpu_time[mode] for mode in MODES}
    if layer.vectors > uniform_vectors:
        del cost_of["uniform"]
    if layer.untextured:
        del cost_of["texture"]
    if layer.columns > MOST_BAKED and len(cost_of) > 1:
        del cost_of["baked"]
    return cost_of


def choose(
    layer: LayerWeights,
    requested: str,
    for_layer: str | None = None,
    uniform_vectors: int = UNIFORM_VECTORS,
    draw: float = DRAW,
) -> WeightsChoice:
    """Return the storage of a layer's weights.

    Args:
        layer: the layer.
        requested: one of ``WEIGHTS_MODES``. Layers that do not support it get another mode.
        for_layer: mode requested for this layer, with priority.
        uniform_vectors: limit of uniform arrays in vec4, unless these are requested explicitly.
        draw: microseconds of a draw.

    Raises:
        InputError: ``for_layer`` is a mode that the layer does not support.
    """
    longest = longest_array(requested, uniform_vectors)
    cost_of = costs(layer, longest, draw)
    if for_layer == "texture" and for_layer not in cost_of:
        raise InputError(f"layer '{layer.name}' cannot have its weights in a texture: {layer.untextured}")
    if for_layer == "uniform" and layer.vectors > LONGEST_ARRAY:
        raise InputError(
            f"layer '{layer.name}' cannot have its weights in a uniform array: {layer.vectors} vec4, and a shader can "
            f"have {LONGEST_ARRAY}"
        )
    if for_layer is not None and for_layer != "auto":
        mode, reason = for_layer, f"asked for by --weights-for {layer.name}={for_layer}"
    elif for_layer is None and requested in cost_of:
        mode, reason = requested, f"asked for by --weights {requested}"
    else:
        mode = min(cost_of, key=lambda candidate: cost_of[candidate])
        reason = _reason(layer, cost_of, mode, longest, draw)
    return WeightsChoice(
        layer.name,
        mode,
        layer.slices,
        layer.pixels,
        layer.columns,
        {candidate: cost_of.get(candidate) for candidate in MODES},
        reason,
    )


def _reason(layer: LayerWeights, cost_of: Mapping[str, float], mode: str, uniform_vectors: int, draw: float) -> str:
    """Return an explanation of the choice for users."""
    if mode == "texture":
        draws_saved = layer.slices - layer.textures
        saved = draws_saved * draw
        return f"{draws_saved} draws less save {saved:.0f} us, weights by texel cost {_extra(layer):.0f} us"
    reasons = []
    if layer.vectors > uniform_vectors:
        reasons.append(f"an array of {layer.vectors} vec4 is longer than {uniform_vectors}")
    if layer.untextured:
        reasons.append(f"no texture: {layer.untextured}")
    if "texture" in cost_of:
        saved = (layer.slices - layer.textures) * draw
        reasons.append(f"weights by texel would cost {_extra(layer):.0f} us, draws saved {saved:.0f} us")
    return "; ".join(reasons)


def _extra(layer: LayerWeights) -> float:
    """Return the additional GPU time in microseconds with weights from a texture."""
    difference = instructions("texture", layer) - instructions("uniform", layer)
    return layer.slices * layer.pixels * difference / INSTRUCTIONS
