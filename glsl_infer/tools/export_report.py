"""Export report: output, cost and precision of each layer, totals of the bundle, its parts, and warnings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from glsl_infer.bundle import Bundle, probe
from glsl_infer.compiler import amplification
from glsl_infer.compiler.delegate import Built
from glsl_infer.compiler.place import described
from glsl_infer.compiler.ranges import PreparedGraph, data_free
from glsl_infer.compiler.ranges.eight_bits import RangeChoice
from glsl_infer.compiler.ranges.fixed_point import ScaleChoice
from glsl_infer.compiler.ranges.precision import PrecisionChoice
from glsl_infer.compiler.ranges.sensitivity import Spent
from glsl_infer.compiler.ranges.unseen import UnseenError
from glsl_infer.compiler.ranges.wide import WideLayer
from glsl_infer.graph.reference import Inputs
from glsl_infer.program import CompiledNetwork, MemoryUse, Pass, WeightsChoice
from glsl_infer.program.layout import textures_of, tile_bytes
from glsl_infer.runtime import statistics
from glsl_infer.support import blas
from glsl_infer.tools.videocore import foresight
from glsl_infer.tools.videocore.foresight import Foresight
from glsl_infer.tools.videocore.verify import Verification, measured

_CALIBRATE = "give --images DIR with typical images for a finer scale"
_CALIBRATED = "on what it was calibrated with, so that no scale could be finer"


@dataclass(frozen=True)
class LayerReport:
    """One layer of the export report: output shape, weights mode, draws, programs, textures, size of the first.

    Attributes:
        gain: gain of a convolution, else None; see ``amplification``.
        error: error of a feature map, else None: the root mean square difference between the stored and the float
            network in steps of 1/255, on two calibration images, or without them on the probe's image.
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
class PartReport:
    """One part of a model.

    Attributes:
        kind: ``gpu`` or ``cpu``.
        layers: names of its layers.
        operators: its operators with their counts.
        uploaded: bytes uploaded for it in a frame.
        read_back: bytes of it read back in a frame.
    """

    kind: str
    layers: tuple[str, ...]
    operators: str
    uploaded: int
    read_back: int


@dataclass(frozen=True)
class ExportReport:
    """The result of an export.

    Attributes:
        layers: one entry for each layer that draws.
        ranges: source of the range of each 8-bit feature map.
        wide: cost of convolutions over more than 8 slices.
        scales: source of the scale of each 16-bit value.
        warnings: sentences for the user.
        totals: passes, jobs, programs, texture bytes, file bytes, activation bytes and slice bytes. Activation bytes
            are those of all render targets. Slice bytes are those that layers draw into them if textures are not
            shared, without gutters and unused corners of atlases.
        memory: bytes of the render targets with each method of sharing them.
        weights: location of the weights of each convolution, and the reason.
        videocore: results of VideoCore IV's compiler; None if it was not requested.
        board: estimated time of a frame on a Raspberry Pi Zero W.
        parts: one entry for each part if the CPU computes some of the model; else empty.
        precision: feature maps with 16 bits, the reason, and the approximate additional cost.
        spent: effect of each layer's rounding on the outputs, if ``tolerance`` or ``budget`` was given.
        unseen: error of the outputs on calibration images left out of the ranges, one entry; empty without images.
        classes: number of labels.
        inputs: kind of each input by its name.
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
    inputs: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return asdict(self)


@blas.one_thread()
def report(
    program: CompiledNetwork,
    bundle: Bundle,
    prepared: PreparedGraph,
    calibration: Sequence[Inputs] = (),
) -> ExportReport:
    """Return the report on an export before it is written: ``file_bytes`` is 0.

    Args:
        program: the compiled network.
        bundle: the bundle of ``program``.
        prepared: the prepared graph that ``build`` returned.
        calibration: typical inputs; two of them are used to measure the difference between 8 bits and floats.
    """
    measured_inputs = (
        [calibration[0], calibration[len(calibration) // 2]] if calibration else [probe.inputs(bundle.manifest.inputs)]
    )
    gains = amplification.gains(program.graph, program.values)
    errors = amplification.errors(prepared.graph, program.graph, measured_inputs)
    layers = _layer_reports(program, gains, errors)
    warnings = (
        *_scale_warnings(prepared.scales, calibrated=bool(calibration)),
        *data_free.warnings([(choice.layer, choice.by) for choice in prepared.ranges]),
        *amplification.warnings(gains, errors, calibrated=bool(calibration)),
    )
    totals = {
        "passes": len(program.passes),
        "jobs": bundle.manifest.jobs,
        "programs": len(program.programs),
        "texture_bytes": sum(4 * texture.width * texture.height for texture in program.textures),
        "file_bytes": 0,
        "activation_bytes": sum(
            4 * texture.width * texture.height for texture in program.textures if texture.kind == "target"
        ),
        "slice_bytes": sum(tile_bytes(program.values[layer.layer]) for layer in layers),
    }
    return ExportReport(
        layers,
        prepared.ranges,
        prepared.wide,
        prepared.scales,
        warnings,
        totals,
        program.memory,
        tuple(program.choices.values()),
        precision=prepared.precision,
        spent=prepared.spent,
    )


def _layer_reports(
    program: CompiledNetwork, gains: Mapping[str, float], errors: Mapping[str, float]
) -> tuple[LayerReport, ...]:
    """Return the report of each layer that draws, with its gain and error if they are known."""
    textures = {texture.name: texture for texture in program.textures}
    passes_by_layer = defaultdict[str, list[Pass]](list)
    for draw in program.passes:
        passes_by_layer[draw.layer].append(draw)
    reports = []
    for node in program.graph.nodes:
        passes = passes_by_layer[node.name]
        if not passes:
            continue
        names = textures_of(program.values[node.name])
        first = textures[names[0]]
        reports.append(
            LayerReport(
                node.name,
                node.op,
                program.graph.shapes[node.name],
                _weights(program, node.name),
                len(passes),
                len({draw.program for draw in passes}),
                len(names),
                (first.width, first.height),
                gains.get(node.name),
                errors.get(node.name),
            )
        )
    return tuple(reports)


def _scale_warnings(scales: Sequence[ScaleChoice], *, calibrated: bool) -> tuple[str, ...]:
    """Return a warning for each 16-bit value whose steps are too coarse."""
    advice = f"its values reach {{:.0f}} {_CALIBRATED}" if calibrated else _CALIBRATE
    return tuple(
        f"layer '{choice.layer}': its interval bound {choice.bound:.0f} leaves steps of {choice.step:.3g}; "
        + advice.format(choice.calibrated)
        for choice in scales
        if choice.too_coarse
    )


def _weights(program: CompiledNetwork, name: str) -> str:
    """Return the location of a layer's weights; ``texture`` also for layers without a choice."""
    choice = program.choices.get(name)
    if choice is not None:
        return choice.mode
    return "texture" if program.weight_members.get(name) else "-"


def part_reports(built: Built) -> tuple[PartReport, ...]:
    """Return one entry for each part in order; empty for a model without parts."""
    reports = []
    bundles = iter(built.gpu)
    for part in built.parts:
        operators = described(built.graph, part.nodes)
        if part.on_cpu:
            reports.append(PartReport("cpu", part.nodes, operators, 0, 0))
        else:
            bundle = next(bundles).bundle
            transfers = statistics.uploaded(bundle), statistics.read_back(bundle)
            reports.append(PartReport("gpu", part.nodes, operators, *transfers))
    return tuple(reports)


def merge_reports(reports: Sequence[ExportReport], parts: tuple[PartReport, ...]) -> ExportReport:
    """Return the report of a model from the reports of its GPU parts."""
    first = reports[0]
    together: dict[str, Any] = {
        key: tuple(item for report in reports for item in getattr(report, key))
        for key in ("layers", "ranges", "wide", "scales", "warnings", "weights", "precision", "unseen")
    }
    return replace(
        first,
        **together,
        totals={key: sum(report.totals[key] for report in reports) for key in first.totals},
        memory=first.memory if len(reports) == 1 else (),
        parts=parts,
    )


def verified(built: Built, seconds: float) -> tuple[Verification | None, Foresight]:
    """Return the results of VideoCore IV's compiler for all GPU parts, and the estimated time of a frame.

    Args:
        built: a model in parts.
        seconds: time limit for all parts together; 0 skips the compiler and estimates without it.
    """
    if not seconds:
        return None, foresight.together([foresight.foresee(part.bundle, {}) for part in built.gpu])
    verifications = [measured(part.bundle, seconds / len(built.gpu)) for part in built.gpu]
    layers = tuple(layer for check, _ in verifications for layer in check.layers)
    times = [
        foresight.foresee(part.bundle, measurement.programs) for part, (_, measurement) in zip(built.gpu, verifications)
    ]
    return replace(verifications[0][0], layers=layers), foresight.together(times)


def parts_sentence(parts: Sequence[PartReport]) -> str:
    """Return a sentence about the parts of a model for users."""
    on_cpu = [part for part in parts if part.kind == "cpu"]
    operators = "; ".join(part.operators for part in on_cpu)
    uploaded, read_back = (sum(getattr(part, key) for part in parts) for key in ("uploaded", "read_back"))
    return (
        f"on the CPU: {operators}. {len(parts)} parts, {len(on_cpu)} of them on the CPU; a frame uploads "
        f"{uploaded / 1e3:.1f} kB and reads back {read_back / 1e3:.1f} kB. --no-delegate refuses instead"
    )
