"""Export: run the compiler's stages on a model file, write the bundle file, and report on the result.

Problems of all files and layers are collected first and raised together.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from glsl_infer import bundle as bundles
from glsl_infer import importers
from glsl_infer.bundle.format_constants import MAX_OUTPUTS
from glsl_infer.compiler import optimize
from glsl_infer.compiler.assemble import classes_of
from glsl_infer.compiler.build import Options
from glsl_infer.compiler.delegate import Built, from_optimized
from glsl_infer.compiler.dry_run import dry_run
from glsl_infer.compiler.ranges import LEARNT, Calibration, varied
from glsl_infer.compiler.ranges.unseen import unseen_warnings
from glsl_infer.errors import InputError, MissingExtraError, ModelError, together
from glsl_infer.graph import Graph
from glsl_infer.graph.reference import Inputs
from glsl_infer.importers.core.io_options import IoOptions
from glsl_infer.importers.core.report import ImportReport
from glsl_infer.runtime.verdicts import write_bundle
from glsl_infer.support.files import not_a_file
from glsl_infer.support.memory import no_collection, permanent_objects, trim_heap
from glsl_infer.support.progress import ProgressCallback, no_progress
from glsl_infer.tools import many_programs, ranges_file
from glsl_infer.tools.calibration import samples as calibration_samples
from glsl_infer.tools.export_report import ExportReport, merge_reports, part_reports, report, verified
from glsl_infer.tools.remedies import measured

_LABELS_ADVICE = "give a UTF-8 text file, one label a line"


def export(
    model: str | Path | Graph,
    out: str | Path,
    labels: str | Path | None = None,
    *,
    options: Options | None = None,
    io_options: IoOptions | None = None,
    calibration: Sequence[str | Path] = (),
    ranges: str | Path | None = None,
    verify_seconds: float = 0.0,
    progress: ProgressCallback = no_progress,
    earlier_problems: Sequence[InputError] = (),
) -> ExportReport:
    """Export a saved model to a bundle file.

    Args:
        model: a ``.keras``, ``.onnx`` or ``.tflite`` file, or an imported graph.
        out: the ``.glslnn`` file to write.
        labels: text file with one label a line, for an output with classes. Without it, classes are numbered.
        options: export options.
        io_options: options of the inputs and outputs of a model file.
        calibration: files of typical inputs; see ``calibration.samples``.
        ranges: a file of ranges. They take precedence over ranges learnt from ``calibration``.
        verify_seconds: time limit in seconds for compiling the programs with VideoCore IV's driver, if it is installed;
            see ``videocore.verify``. 0 skips this.
        progress: called with the name of each step.
        earlier_problems: problems found earlier, raised together with the others.

    Raises:
        InputError: arguments or files cannot be used. The message lists all problems with their files and layers.
        ModelError: the bundle would be larger than readers accept. An existing output file then stays unchanged.
    """
    options = options or Options()
    problems: list[InputError] = list(earlier_problems)
    names: tuple[str, ...] = ()
    try:
        names = () if labels is None else read_labels(labels)
    except InputError as error:
        problems.append(error)
    progress("loading the model")
    with no_collection():
        survey = _survey(model, io_options, problems)
        gc.collect()  # frees the framework's copy of all weights
    trim_heap()
    optimized = _optimized(survey, problems)
    if optimized is not None and (labels is None or names):
        problems += _labels_problems(model, optimized, labels, names)
    is_complete = survey is not None and not survey.problems  # else the graph's inputs are not the model's
    if ranges is not None:
        try:
            stored = ranges_file.read(ranges)
            if optimized is not None and is_complete:
                known_ranges = stored.of(optimized, str(ranges), calibrated=bool(calibration))
                options = replace(options, ranges=known_ranges)
        except InputError as error:
            problems.append(error)
    samples: list[Inputs] | None = None
    try:
        samples = calibration_samples(survey.graph if survey is not None and is_complete else None, calibration)
    except InputError as error:
        problems.append(error)
    if optimized is None or problems or samples is None:
        if survey is not None and optimized is not None:
            images = Calibration((samples or ()) if is_complete else (), percentile=options.percentile)
            trial = dry_run(optimized, options, images, placeholders=survey.guessed, delegate=options.delegate)
            has_ranges = calibration or earlier_problems or ranges
            problems += [*trial.problems, *(() if has_ranges else trial.unranged)]
        raise together(problems)
    numbered = classes_of(optimized) if labels is None else 0
    names = names or tuple(map(str, range(numbered)))
    with permanent_objects():
        built = from_optimized(optimized, names, options=options, calibration=samples, progress=progress)
        progress("comparing with the float network")
        result = _compared(built, names, options, samples, progress)
        progress("writing")
        write_bundle(built.bundle, out)
        if verify_seconds:
            progress("compiling for VideoCore IV")
        checked, board = verified(built, verify_seconds)
        warnings = [*(survey.warnings if survey is not None else ()), *result.warnings]
        if numbered:
            warnings.append(_numbered_warning(numbered, len(optimized.outputs)))
        if options.weights == "auto":
            warnings += many_programs.long_arrays((part.bundle for part in built.gpu), options.uniform_vectors)
        warnings += [*(checked.warnings if checked is not None else ()), *board.warnings]
        return replace(
            result,
            videocore=checked,
            board=board,
            warnings=tuple(warnings),
            classes=len(names),
            inputs={model_input.name: model_input.kind for model_input in built.bundle.manifest.inputs},
            totals={**result.totals, "file_bytes": Path(out).stat().st_size},
        )


def _optimized(survey: ImportReport | None, problems: list[InputError]) -> Graph | None:
    """Return the optimised graph of an import, or None if there is none; append a problem to ``problems``."""
    if survey is None or survey.graph is None:
        return None
    try:
        return optimize.optimize(survey.graph)
    except ModelError as error:
        if not survey.problems:  # else the placeholders of refused layers can be at fault
            problems.append(error)
        return None


def _compared(
    built: Built, names: Sequence[str], options: Options, samples: Sequence[Inputs], progress: ProgressCallback
) -> ExportReport:
    """Return the report of all parts, with the error on new images if there are calibration images."""
    reports = [report(part.program, part.bundle, part.prepared, part.images) for part in built.gpu]
    result = merge_reports(reports, part_reports(built)) if built.parts else reports[0]
    if not samples:
        return result
    unseen = measured(built, names, options, samples, progress)
    image_warnings = unseen_warnings(unseen) or _few_images(result, len(samples))
    return replace(result, unseen=(unseen,), warnings=(*image_warnings, *result.warnings))


def _numbered_warning(classes: int, outputs: int) -> str:
    """Return a warning that classes have no labels.

    Args:
        classes: number of classes.
        outputs: number of the model's outputs.
    """
    values = "--purpose values" if outputs == 1 else "--purpose NAME=values"
    advice = f"give --labels FILE with one label a line, or {values} if they are not classes"
    return f"the {classes} classes have no labels and are numbered from 0; {advice}"


def _survey(model: str | Path | Graph, io_options: IoOptions | None, problems: list[InputError]) -> ImportReport | None:
    """Return the import report of a model, or None if it cannot be read; append its problems to ``problems``."""
    if isinstance(model, Graph):
        return ImportReport((), model)
    try:
        survey = importers.survey(model, io_options=io_options)
    except MissingExtraError:
        raise
    except InputError as error:
        problems.append(error)
        return None
    problems += survey.problems
    count = len(survey.graph.outputs) if survey.graph is not None and not survey.problems else 1
    if count > MAX_OUTPUTS:
        advice = "choose some by --outputs NAME,..."
        problems.append(ModelError(f"{model} has {count} outputs; a bundle has up to {MAX_OUTPUTS}: {advice}"))
    return survey


def _few_images(result: ExportReport, count: int) -> tuple[str, ...]:
    """Return a sentence if layers have learnt their ranges from few images."""
    layers = [choice.layer for choice in result.ranges if choice.by.partition(" ")[0] in LEARNT]
    if not layers or count >= varied.FEW:
        return ()
    return (
        f"only {count} image{'s' * (count != 1)} for the ranges of {len(layers)} layer{'s' * (len(layers) != 1)}, "
        f"which may not fit other images; give --images with {varied.FEW} or more, as varied as those that the network "
        "will get",
    )


def _labels_problems(
    model: str | Path | Graph, graph: Graph, labels: str | Path | None, names: Sequence[str]
) -> list[InputError]:
    """Return an error if labels are given for a network without classes, or if their number is wrong."""
    classes = classes_of(graph)
    if not classes and labels is not None:
        shapes = " and ".join(str(graph.shape_of(output)) for output in graph.outputs)
        subject = f"a feature map of {shapes}" if len(graph.outputs) == 1 else f"outputs of {shapes}"
        return [
            InputError(
                f"{model} ends in {subject}, which has no classes; leave out --labels, or give --purpose NAME=classes"
            )
        ]
    if labels is not None and len(names) != classes:
        return [
            InputError(
                f"{labels}: {len(names)} labels for the {classes} classes of {model}; give one line for each class"
            )
        ]
    return []


def read_labels(path: str | Path) -> tuple[str, ...]:
    """Return the lines of a labels file, verbatim but without a leading byte order mark.

    Raises:
        InputError: the file cannot be read, is not UTF-8, is empty or has an empty line.
    """
    try:
        file_type = not_a_file(path)
        if file_type:
            raise InputError(f"{path}: is {file_type}, not a file of labels; {_LABELS_ADVICE}")
        labels = bundles.split_labels(Path(path).read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(f"{path}: the labels are not UTF-8 text; {_LABELS_ADVICE}") from None
    except OSError as error:
        raise InputError(f"{path}: labels cannot be read ({error.strerror}); {_LABELS_ADVICE}") from None
    if not labels:
        raise InputError(f"{path}: has no labels; {_LABELS_ADVICE}")
    empty = [line for line, label in enumerate(labels, 1) if not label.strip()]
    if empty:
        raise InputError(f"{path}: line {empty[0]} is empty; {_LABELS_ADVICE}")
    return labels
