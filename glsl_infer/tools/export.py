"""Model file -> bundle file, and a report of what was made: the compiler's stages with the files around them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glsl_infer import bundle as bundles
from glsl_infer import importers
from glsl_infer.bundle import Bundle, probe
from glsl_infer.compiler import amplification, optimize
from glsl_infer.compiler.assemble import classes_of
from glsl_infer.compiler.build import Options, Tell, tell_nobody
from glsl_infer.compiler.delegate import build
from glsl_infer.compiler.ranges import PreparedGraph
from glsl_infer.compiler.ranges.eight_bits import RangeChoice
from glsl_infer.compiler.ranges.fixed_point import ScaleChoice
from glsl_infer.compiler.ranges.precision import PrecisionChoice
from glsl_infer.compiler.ranges.sensitivity import Spent
from glsl_infer.compiler.ranges.wide import WideLayer
from glsl_infer.compiler.trial import compile_on_trial
from glsl_infer.errors import InputError, MissingExtraError, ModelError, together
from glsl_infer.graph import Graph
from glsl_infer.graph.reference import Inputs
from glsl_infer.importers.shared.ends import Ends
from glsl_infer.program import CompiledNetwork, MemoryUse, WeightsChoice
from glsl_infer.program.layout import FixedPoint, Value, textures_of
from glsl_infer.support import blas
from glsl_infer.support.files import not_a_file
from glsl_infer.tools import ranges_file
from glsl_infer.tools.calibration import samples as calibration_samples
from glsl_infer.tools.export_parts import PartReport, joined, part_reports, verified

if TYPE_CHECKING:
    from glsl_infer.importers.shared.verdict import Survey
    from glsl_infer.tools.videocore.foresight import Foresight
    from glsl_infer.tools.videocore.verify import Verification

_CALIBRATE = "give --calibrate DIR with typical pictures for a finer scale"
_CALIBRATED = "on what it was calibrated with, so that no scale could be finer"
_LABELS_ADVICE = "give a UTF-8 text file, one label a line"


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

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return asdict(self)


def export(
    model: str | Path,
    out: str | Path,
    labels: str | Path | None = None,
    *,
    options: Options | None = None,
    calibration: Sequence[str | Path] = (),
    ranges: str | Path | None = None,
    verify_seconds: float = 0.0,
    tell: Tell = tell_nobody,
    known: Sequence[InputError] = (),
) -> ExportReport:
    """Export a saved model to a bundle file.

    Args:
        model: a ``.keras``, ``.onnx`` or ``.tflite`` file.
        out: the ``.glslnn`` file to write.
        labels: text file with one label a line; needed where an output is for classes.
        options: how.
        calibration: files of typical inputs; see ``calibration.samples``.
        ranges: a file of ranges, which go before those that ``calibration`` tells.
        verify_seconds: how long VideoCore IV's driver may compile the programs, where it is there; see
            ``videocore.verify``. 0: it is not asked.
        tell: hears of every step.
        known: problems that were met before, to be told with all others.

    Raises:
        InputError: whatever was given that cannot be used, all of it, naming files and layers.
        ModelError: a model so large that no reader takes its file; a file that is there already stays as it is.
    """
    options = options or Options()
    problems: list[InputError] = list(known)
    names: tuple[str, ...] = ()
    try:
        names = () if labels is None else read_labels(labels)
    except InputError as error:
        problems.append(error)
    tell("loading the model")
    survey = _survey(model, options, problems)
    graph = survey.graph if survey is not None else None
    if graph is not None and (labels is None or names):
        problems += _labels_problems(model, graph, labels, names)
    if ranges is not None:
        try:
            stored = ranges_file.read(ranges)
            if graph is not None and survey is not None and not survey.problems:
                known_ranges = stored.of(optimize.optimize(graph), str(ranges), calibrated=bool(calibration))
                options = replace(options, ranges=known_ranges)
        except InputError as error:
            problems.append(error)
    guesses = survey is None or survey.problems  # then inputs are not those of the model
    samples: list[Inputs] | None = None
    try:
        samples = calibration_samples(None if guesses else graph, calibration)
    except InputError as error:
        problems.append(error)
    if graph is None or problems or samples is None:
        if survey is not None and graph is not None:
            given = () if guesses else samples or ()
            problems += _layer_problems(
                graph, given, options, survey.guessed, ranged=bool(calibration or known or ranges)
            )
        raise together(problems)
    built = build(graph, names, options=options, calibration=samples, tell=tell)
    tell("comparing with the float network")
    reports = [report(part.program, part.bundle, part.prepared, part.samples) for part in built.gpu]
    made = joined(reports, part_reports(built)) if built.parts else reports[0]
    tell("writing")
    bundles.write(built.bundle, out, read_back=True)
    if verify_seconds:
        tell("compiling for VideoCore IV")
    checked, board = verified(built, verify_seconds)
    more = (*(checked.warnings if checked is not None else ()), *board.warnings)
    made = replace(made, videocore=checked, board=board, warnings=made.warnings + more)
    return replace(made, totals={**made.totals, "file_bytes": Path(out).stat().st_size})


def _survey(model: str | Path, options: Options, problems: list[InputError]) -> Survey | None:
    """Return what the importer says of the model, and add its problems; None where it is no model at all."""
    ends = Ends(options.input_ranges, options.fits, options.purposes, options.input_sizes, options.outputs)
    try:
        survey = importers.survey(model, options.input_range, ends)
    except MissingExtraError:
        raise
    except InputError as error:
        problems.append(error)
        return None
    problems += survey.problems
    return survey


def _labels_problems(
    model: str | Path, graph: Graph, labels: str | Path | None, names: Sequence[str]
) -> list[InputError]:
    """Return what is wrong with the labels of a model: none where it has classes, some where not, or too many."""
    classes = classes_of(optimize.optimize(graph))  # which takes off the endings that say what an output is for
    if not classes and labels is not None:
        shapes = " and ".join(str(graph.shape_of(output)) for output in graph.outputs)
        what = f"a feature map of {shapes}" if len(graph.outputs) == 1 else f"outputs of {shapes}"
        return [
            InputError(
                f"{model} ends in {what}, which has no classes; leave out --labels, or give --purpose NAME=classes"
            )
        ]
    if classes and labels is None:
        return [InputError(f"{model} has {classes} classes; give --labels FILE with one label a line")]
    if len(names) != classes:
        return [
            InputError(
                f"{labels}: {len(names)} labels for the {classes} classes of {model}; give one line for each class"
            )
        ]
    return []


def _layer_problems(
    graph: Graph, samples: Sequence[Inputs], options: Options, guessed: Collection[str], *, ranged: bool
) -> list[InputError]:
    """Return what the compiler cannot do of a network; without samples, as much as is known before ranges are."""
    try:
        trial = compile_on_trial(
            graph,
            layout=options.layout,
            samples=samples,
            percentile=options.percentile,
            guessed=guessed,
            delegate=options.delegate,
        )
    except ModelError as error:
        return [] if options.delegate and error.refused else [error]
    return [*trial.problems, *(() if ranged else trial.unranged)]


def read_labels(path: str | Path) -> tuple[str, ...]:
    """Return the lines of a labels file, verbatim; the byte order mark of some editors is no part of the first.

    Raises:
        InputError: it cannot be read, is not UTF-8, is empty or has an empty line.
    """
    try:
        kind = not_a_file(path)
        if kind:
            raise InputError(f"{path}: is {kind}, not a file of labels; {_LABELS_ADVICE}")
        labels = bundles.split_labels(Path(path).read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(f"{path}: the labels are not UTF-8 text; {_LABELS_ADVICE}") from None
    except OSError as error:
        raise InputError(f"{path}: labels cannot be read ({error.strerror}); {_LABELS_ADVICE}") from None
    if not labels:
        raise InputError(f"{path}: there are no labels in it; {_LABELS_ADVICE}")
    empty = [number for number, label in enumerate(labels, 1) if not label.strip()]
    if empty:
        raise InputError(f"{path}: line {empty[0]} is empty; {_LABELS_ADVICE}")
    return labels


@blas.one_thread()
def report(
    program: CompiledNetwork, bundle: Bundle, prepared: PreparedGraph, calibration: Sequence[Inputs] = ()
) -> ExportReport:
    """Return the report on an export that is not written yet: ``file_bytes`` is 0.

    Args:
        program: what was made,
        bundle: of that,
        prepared: and from that: what ``build`` returned.
        calibration: typical inputs; two of them show how far 8 bits are from floats.
    """
    shown = (
        [calibration[0], calibration[len(calibration) // 2]] if calibration else [probe.inputs(bundle.manifest.inputs)]
    )
    gains = amplification.gains(program.graph, program.values)
    errors = amplification.errors(prepared.graph, program.graph, shown)
    textures = {texture.name: texture for texture in program.textures}
    layers = []
    for node in program.graph.nodes:
        passes = [entry for entry in program.passes if entry.layer == node.name]
        if not passes:
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
    ) + amplification.warnings(gains, errors, calibrated=bool(calibration))
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
