"""The report on an export: what each layer became and costs, and warnings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from glsl_infer.bundle import Bundle, probe
from glsl_infer.compiler import amplification
from glsl_infer.compiler.ranges import PreparedGraph, data_free, unseen_error, unseen_runs
from glsl_infer.compiler.ranges.eight_bits import RangeChoice
from glsl_infer.compiler.ranges.fixed_point import ScaleChoice
from glsl_infer.compiler.ranges.precision import PrecisionChoice
from glsl_infer.compiler.ranges.sensitivity import Spent
from glsl_infer.compiler.ranges.unseen_error import UnseenError
from glsl_infer.compiler.ranges.wide import WideLayer
from glsl_infer.graph.reference import Inputs
from glsl_infer.program import CompiledNetwork, MemoryUse, Pass, WeightsChoice
from glsl_infer.program.layout import FixedPoint, Value, textures_of
from glsl_infer.support import blas
from glsl_infer.tools.export_parts import PartReport

if TYPE_CHECKING:
    from glsl_infer.tools.videocore.foresight import Foresight
    from glsl_infer.tools.videocore.verify import Verification


_CALIBRATE = "give --images DIR with typical pictures for a finer scale"
_CALIBRATED = "on what it was calibrated with, so that no scale could be finer"


@dataclass(frozen=True)
class LayerReport:
    """One layer of the export report: output shape, weights mode, draws, programs, textures, size of the first.

    Attributes:
        gain: of a convolution, else None; see ``amplification``.
        error: of a feature map, else None: steps of 255 between the stored and the float network, root mean
            square, on two calibration pictures, or without any on the probe's.
    """

    layer: str
    op: str
    shape: tuple[int, ...]
    weights: str
    passes: int
    programs: int
    textures: int
    texture: tuple[int, int]
    gain: float | None = None
    error: float | None = None


@dataclass(frozen=True)
class ExportReport:
    """What an export made.

    Attributes:
        layers: one entry a layer that draws.
        ranges: how each 8-bit feature map got its range.
        wide: what convolutions over more than 8 slices cost.
        scales: how each 16-bit value got its scale.
        warnings: sentences for the person who exports.
        totals: passes, jobs, programs, texture bytes, file bytes; activation bytes, which are those of textures that
            passes render into, and slice bytes, which layers draw in them if they share nothing: without gutters and
            the corners of atlases that stay empty.
        memory: what textures that passes render into take with each method of sharing them.
        weights: where the weights of each convolution are, and why.
        videocore: what VideoCore IV's compiler says of the programs; None where it was not to be asked.
        board: what a frame takes on a Raspberry Pi Zero W, an estimate.
        parts: one entry for each part of a model that the CPU computes too; else none.
        precision: which feature maps have 16 bits, why, and about what it adds.
        spent: what the rounding of each layer does to the outputs, where ``tolerance`` or ``budget`` asked for it.
        unseen: the outputs' error on calibration images that their ranges have not seen, of each GPU part; none
            without images.
        classes: number of labels.
    """

    layers: tuple[LayerReport, ...]
    ranges: tuple[RangeChoice, ...]
    wide: tuple[WideLayer, ...]
    scales: tuple[ScaleChoice, ...]
    warnings: tuple[str, ...]
    totals: dict[str, int]
    memory: tuple[MemoryUse, ...] = ()
    weights: tuple[WeightsChoice, ...] = ()
    videocore: Verification | None = None
    board: Foresight | None = None
    parts: tuple[PartReport, ...] = ()
    precision: tuple[PrecisionChoice, ...] = ()
    spent: Spent | None = None
    unseen: tuple[UnseenError, ...] = ()
    classes: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return asdict(self)


@blas.one_thread()
def report(
    program: CompiledNetwork,
    bundle: Bundle,
    prepared: PreparedGraph,
    calibration: Sequence[Inputs] = (),
    *,
    is_part: bool = False,
) -> ExportReport:
    """Return the report on an export that is not written yet: ``file_bytes`` is 0.

    Args:
        program: what was made,
        bundle: of that,
        prepared: and from that: what ``build`` returned.
        calibration: typical inputs; two of them show how far 8 bits are from floats.
        is_part: of a network in parts, whose outputs are to be measured as a whole.
    """
    shown = (
        [calibration[0], calibration[len(calibration) // 2]] if calibration else [probe.inputs(bundle.manifest.inputs)]
    )
    gains = amplification.gains(program.graph, program.values)
    errors = amplification.errors(prepared.graph, program.graph, shown)
    textures = {texture.name: texture for texture in program.textures}
    drawn = defaultdict[str, list[Pass]](list)
    for entry in program.passes:
        drawn[entry.layer].append(entry)
    layers = []
    for node in program.graph.nodes:
        if not (passes := drawn[node.name]):
            continue
        names = textures_of(program.values[node.name])
        texture = textures[names[0]]
        layers.append(
            LayerReport(
                node.name,
                node.op,
                program.graph.shapes[node.name],
                _weights(program, node.name),
                len(passes),
                len({entry.program for entry in passes}),
                len(names),
                (texture.width, texture.height),
                gains.get(node.name),
                errors.get(node.name),
            )
        )
    advice = f"its values reach {{:.0f}} {_CALIBRATED}" if calibration else _CALIBRATE
    warnings = tuple(
        f"layer '{choice.layer}': its interval bound {choice.bound:.0f} leaves steps of {choice.step:.3g}; "
        + advice.format(choice.calibrated)
        for choice in prepared.scales
        if choice.too_coarse
    )
    warnings += data_free.warnings([(choice.layer, choice.by) for choice in prepared.ranges])
    unseen: tuple[UnseenError, ...] = ()
    if calibration and not is_part:
        unseen = (unseen_runs.measure(prepared.graph, program.graph, calibration, prepared.folds, prepared.runs),)
        warnings += unseen_error.warnings(unseen[0])
    warnings += amplification.warnings(gains, errors, calibrated=bool(calibration))
    totals = {
        "passes": len(program.passes),
        "jobs": bundle.manifest.jobs,
        "programs": len(program.programs),
        "texture_bytes": sum(4 * texture.width * texture.height for texture in program.textures),
        "file_bytes": 0,
        "activation_bytes": sum(
            4 * texture.width * texture.height for texture in program.textures if texture.kind == "target"
        ),
        "slice_bytes": sum(_slice_bytes(program.values[layer.layer]) for layer in layers),
    }
    return ExportReport(
        tuple(layers),
        prepared.ranges,
        prepared.wide,
        prepared.scales,
        warnings,
        totals,
        program.memory,
        tuple(program.choices.values()),
        precision=prepared.precision,
        spent=prepared.spent,
        unseen=unseen,
    )


def _weights(program: CompiledNetwork, name: str) -> str:
    """Return where a layer's weights are: in a texture also where there is no other way."""
    choice = program.choices.get(name)
    if choice is not None:
        return choice.mode
    return "texture" if program.weight_members.get(name) else "-"


def _slice_bytes(value: Value) -> int:
    """Return the bytes of the texels that a layer draws."""
    if isinstance(value, FixedPoint):
        width, height = value.size
        return 4 * width * height
    return 4 * len(value.views) * value.height * value.width
