"""Estimated time of a frame on a Raspberry Pi Zero W at export, with or without the driver's compiler.

Instructions of compiled programs are exact. Those of others are estimated: of a convolution by the columns of its
kernel (``lowering.weights_plan``), of other shaders by their operations. The formula is that of ``estimate``. For 68
networks, the time of a frame without the compiler was 0.94 to 1.00 of the time with the compiler. The GPU's computing
alone was 0.45 to 1.07, and lowest where small dense layers dominate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from glsl_infer.bundle import Bundle
from glsl_infer.bundle.network import Layer
from glsl_infer.bundle.shader_check import parse
from glsl_infer.lowering import weights_plan
from glsl_infer.lowering.conv_columns import columns_of
from glsl_infer.program import Pass
from glsl_infer.tools.videocore.estimate import BOARDS, CYCLES, QPUS, costs
from glsl_infer.tools.videocore.report import groups_of
from glsl_infer.tools.videocore.transcript import Shader

ABSURD_MS = 1000.0
"""Milliseconds of a frame above which the bundle gets a warning."""

MANY_PROGRAMS = 300
"""Largest number of programs without a warning about the time of their compilation."""

BLAMED = 0.1
"""Share of a frame above which a layer is named."""

_MOST_NAMED = 3
_MOST_NAME = 48
"""Longest name of a layer in the line, in characters."""
_SIXTEEN_BITS = 0.4
"""Ratio of the bytes of a convolution's weights in textures to 16 bytes a column, above which they have 16 bits."""

_PER_OPERATION, _BESIDE, _TURNS = 0.95, 10.0, 3
"""Instructions for an operation of a shader, additional instructions of a shader, and the largest ratio by which the
compiler unrolls loops. They were fitted to the output of Mesa's compiler for the tests' networks."""


@dataclass(frozen=True)
class LayerTime:
    """A layer's share of a frame: its milliseconds with its draws and jobs, and its programs."""

    layer: str
    op: str
    milliseconds: float
    draws: int
    programs: int


@dataclass(frozen=True)
class Foresight:
    """Estimated time of a frame on a Pi Zero W.

    Attributes:
        milliseconds: of a frame, without layers on the CPU.
        computing: the part computed by the GPU.
        draws, jobs, programs: counts of a frame.
        compiled: share of ``computing`` in programs compiled by the driver, 0 to 1; the remainder is estimated.
        layers: one entry for each layer that draws, in order.
    """

    milliseconds: float
    computing: float
    draws: int
    jobs: int
    programs: int
    compiled: float
    layers: tuple[LayerTime, ...]

    def __str__(self) -> str:
        """Return a line for users."""
        longest = sorted(self.layers, key=lambda layer: -layer.milliseconds)[:_MOST_NAMED]
        named = ", ".join(f"'{_shortened(layer.layer)}' {_time(layer.milliseconds)}" for layer in longest)
        how = "with its compiler" if self.compiled == 1.0 else "without its compiler"
        if 0.0 < self.compiled < 1.0:
            how = f"{self.compiled:.0%} of it with its compiler"
        return (
            f"Pi Zero W: about {_time(self.milliseconds)} a frame, estimated {how}: {_time(self.computing)} "
            f"computing, {self.draws} draws, {self.jobs} jobs; longest: {named}"
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons why the bundle is unsuitable for the board, with the names of the layers."""
        sentences = []
        if self.milliseconds > ABSURD_MS:
            blamed = sorted(self.layers, key=lambda layer: -layer.milliseconds)[:_MOST_NAMED]
            named = [layer for layer in blamed if layer.milliseconds > BLAMED * self.milliseconds] or blamed[:1]
            text = ", ".join(f"'{layer.layer}' ({layer.op}, {_time(layer.milliseconds)})" for layer in named)
            sentences.append(
                f"a frame takes about {_time(self.milliseconds)} on a Pi Zero W, most of it in layer"
                f"{'s' * (len(named) > 1)} {text}: give smaller images, strides earlier, or fewer channels there; "
                "faster boards and phones may do"
            )
        if self.programs > MANY_PROGRAMS:
            worst = max(self.layers, key=lambda layer: layer.programs)
            sentences.append(
                f"{self.programs} programs are compiled before the first frame, {worst.programs} of them for layer "
                f"'{worst.layer}' ({worst.op}): --weights uniform or texture makes them fewer where it can"
            )
        return tuple(sentences)


def foresee(bundle: Bundle, shaders: Mapping[str, Shader]) -> Foresight:
    """Return the estimated time of a frame of a bundle.

    Args:
        bundle: a bundle without parts.
        shaders: the driver's statistics by program; missing programs are estimated.
    """
    board = BOARDS[0]
    cost = costs(board)
    layers = {layer.name: layer for layer in bundle.network.layers}
    fragments = {program.name: program.fragment for program in bundle.manifest.programs}
    instructions: dict[tuple[str, str], float] = {}  # of a pixel, by layer and program
    computing: dict[str, float] = defaultdict(float)
    passes: dict[str, list[Pass]] = defaultdict(list)
    compiled_ms, estimated_ms = 0.0, 0.0
    for draw in bundle.manifest.passes:
        key = draw.layer, draw.program
        shader = shaders.get(draw.program)
        if key not in instructions:
            text = bundle.members[fragments[draw.program]].decode("ascii")
            instructions[key] = (
                _foreseen(bundle, layers[draw.layer], text) if shader is None else float(shader.executed)
            )
        milliseconds = 1e3 * instructions[key] * groups_of(draw) * CYCLES / QPUS / board.clock
        computing[draw.layer] += milliseconds
        if shader is None:
            estimated_ms += milliseconds
        else:
            compiled_ms += milliseconds
        passes[draw.layer].append(draw)
    rows = tuple(
        LayerTime(
            name,
            layers[name].op,
            computing[name] + len(draws) * cost.draw + len({draw.target for draw in draws}) * cost.job,
            len(draws),
            len({draw.program for draw in draws}),
        )
        for name, draws in passes.items()
    )
    total, draw_count, job_count = sum(computing.values()), len(bundle.manifest.passes), bundle.manifest.jobs
    return Foresight(
        total + draw_count * cost.draw + job_count * cost.job,
        total,
        draw_count,
        job_count,
        len(bundle.manifest.programs),
        compiled_ms / (compiled_ms + estimated_ms) if estimated_ms else 1.0,
        rows,
    )


def together(parts: Sequence[Foresight]) -> Foresight:
    """Return the estimate of all parts of a model together."""
    total = sum(part.computing for part in parts)
    shares = {part.compiled for part in parts}
    return Foresight(
        sum(part.milliseconds for part in parts),
        total,
        sum(part.draws for part in parts),
        sum(part.jobs for part in parts),
        sum(part.programs for part in parts),
        shares.pop() if len(shares) == 1 else sum(part.compiled * part.computing for part in parts) / total,
        tuple(layer for part in parts for layer in part.layers),
    )


def _foreseen(bundle: Bundle, layer: Layer, text: str) -> float:
    """Return the estimated instructions of a layer's program."""
    shader = parse(layer.name, text)
    by_text = _BESIDE + _PER_OPERATION * min(shader.executed, _TURNS * shader.written)
    kernel: Sequence[int] | None = layer.weights.get("kernel")
    if kernel is None or len(kernel) != 4 or "groups" not in layer.attrs:
        return by_text
    height, width, channels, filters = kernel
    columns = columns_of((height, width, channels + bool(layer.attrs.get("alpha")), filters), layer.attrs["groups"])
    weights_kind = "uniform"
    textures = [member for member in layer.members if member.endswith(".rgba")]
    if textures:
        share = sum(len(bundle.members[name]) for name in textures) / (16.0 * columns.count * columns.slices)
        weights_kind = "texture" if share > _SIXTEEN_BITS else "bytes"
    per_column = weights_plan.DEPTHWISE_COLUMN if columns.depthwise else weights_plan.COLUMN
    by_columns = weights_plan.FIXED[weights_kind] + per_column[weights_kind] * columns.count
    return by_columns if textures else min(by_columns, by_text)


def _shortened(name: str) -> str:
    """Return a name without its middle if it is too long for a list in a line."""
    return name if len(name) <= _MOST_NAME else f"{name[: _MOST_NAME // 4]}...{name[-_MOST_NAME * 3 // 4 :]}"


def _time(milliseconds: float) -> str:
    """Return a time with two significant digits."""
    if milliseconds >= 9950.0:
        return f"{milliseconds / 1e3:.0f} s"
    if milliseconds >= 995.0:
        return f"{milliseconds / 1e3:.1f} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 9.95 else f"{milliseconds:.1f} ms"
