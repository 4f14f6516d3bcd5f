"""Convert a Keras, TensorFlow Lite or ONNX model into a .glslnn file."""

from __future__ import annotations

import argparse
import json
import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from glsl_infer.bundle import SUFFIX
from glsl_infer.cli import arguments, model_options, progress
from glsl_infer.cli.export_text import print_report
from glsl_infer.cli.terminal_text import say_warning
from glsl_infer.compiler.ranges.precision import AUTO, BITS, PRECISIONS
from glsl_infer.compiler.ranges.unseen import LEAST_COSINE, MOST_ERROR
from glsl_infer.compiler.sharing import MEMORY
from glsl_infer.errors import InputError, RunError
from glsl_infer.lowering.texture_choice import WEIGHT_BITS
from glsl_infer.lowering.weights_plan import (
    DRAW,
    LEAST_ARRAY,
    LEAST_DRAW,
    LONGEST_ARRAY,
    MOST_DRAW,
    UNIFORM_VECTORS,
    WEIGHTS_MODES,
)
from glsl_infer.program.layout import LAYOUTS
from glsl_infer.runtime.pictures import paths as pictures
from glsl_infer.support import memory
from glsl_infer.support.files import check_output

if TYPE_CHECKING:
    from glsl_infer.compiler.build import Options
    from glsl_infer.tools.export_report import ExportReport

VIDEOCORE = "videocore"
"""Target whose driver supports long uniform arrays: Mesa for the Raspberry Pi reports 4,095 fragment vectors."""

MAX_CALIBRATION = 64

VERIFY_SECONDS = 20.0


EXAMPLES = (
    "glsl-infer export model.keras -o model.glslnn --images photos/",
    "glsl-infer export model.tflite -o model.glslnn --labels labels.txt --images photos/",
    "glsl-infer export model.onnx -o model.glslnn --images photos/ --input-range=-1,1",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "model",
        type=Path,
        metavar="MODEL",
        help="The saved model: *.keras, *.h5, *.tflite, *.onnx, a model in a *.task file, the folder of a SavedModel, "
        "or model.json of TensorFlow.js.",
    )
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE.glslnn", help="The file to write.")
    parser.add_argument(
        "--images",
        dest="calibrate",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help=f"Typical images, of which at most {MAX_CALIBRATION} are used, taken evenly from the folder. They set the "
        "value ranges of the layers and show the error of the export. A model with another input takes *.npy "
        "files of arrays, and one with several inputs *.npz files with an array for each. Can be repeated.",
    )
    arguments.accept(parser, "--images", "--calibrate", "--data")
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="FILE.txt",
        help="A text file with one label per line, for an output for classes (default: they are numbered from 0).",
    )
    model_options.add(
        parser, "--input-range", "--fit", "--input-size", "--input-shape", "--constant", "--outputs", "--purpose"
    )
    _add_accuracy(parser)
    _add_cpu(parser)
    arguments.group(parser, "Report").add_argument(
        "--explain",
        action="store_true",
        help="Print the tables of layers, ranges, precision, weights and memory, and the cost of the alternatives.",
    )
    arguments.add_json(parser, "Print the report as JSON.")
    _add_weights(parser)
    _add_advanced(parser)


def _add_accuracy(parser: argparse.ArgumentParser) -> None:
    accuracy = arguments.group(parser, "Accuracy")
    accuracy.add_argument(
        "--precision",
        choices=PRECISIONS,
        default=AUTO,
        help="The bits of feature maps: 8, 16, or auto (default). auto stores outputs for values in 16 bits. With "
        "--images, it also stores the maps in 16 bits that reduce the error most, with at most an eighth more work, or "
        "about twice the work if the outputs are too far off on new images. A map in 16 bits takes twice the draws and "
        "fetches.",
    )
    accuracy.add_argument(
        "--precision-for",
        action="append",
        default=[],
        metavar="LAYER=BITS",
        help="Use 8 or 16 bits for one layer, by its name in --explain. Can be repeated.",
    )
    accuracy.add_argument(
        "--tolerance",
        type=_positive,
        metavar=arguments.SHARE,
        help="Store more maps in 16 bits, until the root mean square error of the outputs is at most this share of "
        "their spread, e.g. 0.01. The maps with the largest gain per millisecond come first. Needs --images.",
    )
    accuracy.add_argument(
        "--budget",
        type=_positive,
        metavar="MS",
        help="Store more maps in 16 bits, in the same order, until they cost this many milliseconds of a frame on a "
        "Pi Zero W.",
    )
    accuracy.add_argument(
        "--ranges",
        type=Path,
        metavar="FILE.json",
        help="Use the ranges that 'glsl-infer calibrate' measured before, instead of images.",
    )
    accuracy.add_argument(
        "--strict",
        action="store_true",
        help="Exit with 1 if the error is too large: for 1 of 20 new images, an output is expected to differ by more "
        f"than {MOST_ERROR:g} of its range, or to have a cosine similarity below {LEAST_COSINE:g}.",
    )


def _add_cpu(parser: argparse.ArgumentParser) -> None:
    cpu = arguments.group(parser, "CPU")
    cpu.add_argument(
        "--delegate",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="Compute layers that no shader supports on the CPU, between parts on the GPU (the default). "
        "--no-delegate refuses such a model.",
    )
    cpu.add_argument(
        "--delegate-for",
        action="append",
        default=[],
        metavar="LAYER",
        help="Compute this layer on the CPU even if a shader supports it. Can be repeated.",
    )


def _add_weights(parser: argparse.ArgumentParser) -> None:
    advanced = arguments.group(parser, arguments.ADVANCED)
    advanced.add_argument(
        "--weights",
        choices=WEIGHTS_MODES,
        default="auto",
        help="Where weights are stored: baked (constants, a program for each slice), uniform (arrays, few programs), "
        "texture (few draws), or auto (default): for each layer the mode that costs least.",
    )
    advanced.add_argument(
        "--weights-for",
        action="append",
        default=[],
        metavar="LAYER=MODE",
        help="Use a mode of --weights for one layer, by its name in --explain. Can be repeated.",
    )
    advanced.add_argument(
        "--weight-bits",
        choices=WEIGHT_BITS,
        default="auto",
        help="The bits of weights in textures: 16, or 8 where that adds little noise and halves the fetches (auto).",
    )
    advanced.add_argument(
        "--uniform-vectors",
        type=_uniform_vectors,
        default=UNIFORM_VECTORS,
        metavar="N",
        help=f"The longest uniform array in vec4, {LEAST_ARRAY} to {LONGEST_ARRAY} (default: {UNIFORM_VECTORS}, which "
        f"nearly all phones support), or '{VIDEOCORE}' for a Raspberry Pi with Mesa ({LONGEST_ARRAY}).",
    )
    advanced.add_argument(
        "--draw-cost",
        type=arguments.number(
            float, f"{LEAST_DRAW:g} to {MOST_DRAW:g} microseconds", lambda cost: LEAST_DRAW <= cost <= MOST_DRAW
        ),
        default=DRAW,
        metavar="US",
        help="The CPU time of a draw in microseconds, for --weights auto (default: %(default)g). A lower cost leads to "
        "more layers with weights in uniforms, more draws, and fewer fetches.",
    )


def _add_advanced(parser: argparse.ArgumentParser) -> None:
    """Declare the options of textures, percentiles and the shader check."""
    advanced = arguments.group(parser, arguments.ADVANCED)
    advanced.add_argument(
        "--layout",
        choices=LAYOUTS,
        default="atlas",
        help="Store all slices of a layer in one texture (atlas, the default), or each in its own (planar).",
    )
    advanced.add_argument(
        "--memory",
        choices=MEMORY,
        default="auto",
        help="How layers share textures: naive (not at all), greedy in order of execution or by size, "
        "or auto (default): the planner that takes the fewest bytes.",
    )
    advanced.add_argument(
        "--percentile",
        type=arguments.number(float, "more than 50, and 100 at most", lambda share: 50.0 < share <= 100.0),
        default=100.0,
        metavar="PERCENT",
        help="The percentile of a channel's values at each end of its range: 99.99 leaves out the highest and the "
        "lowest 0.01 %% (default: 100, which chooses the range with the smallest expected error).",
    )
    advanced.add_argument(
        "--verify",
        type=arguments.number(float, "a number of seconds, or 0", lambda seconds: 0.0 <= seconds < math.inf),
        default=VERIFY_SECONDS,
        metavar="SECONDS",
        help="The time limit for checking the shaders with the compiler of the Raspberry Pi's driver, if "
        "scripts/vc4/build.sh has built it (default: %(default)g; 0: no check).",
    )


def run(args: argparse.Namespace) -> int:
    """Export and print the report."""
    from glsl_infer.tools import many_programs
    from glsl_infer.tools.calibration import FILES
    from glsl_infer.tools.export import export

    check_output(args.out, SUFFIX)
    calibration: list[Path] = []
    problems: list[InputError] = []
    try:
        calibration = pictures.spread(pictures.find(args.calibrate, also=FILES, warn=say_warning), MAX_CALIBRATION)
    except InputError as error:
        problems.append(error)
    options = _options(args)
    model_options.prepare_import(args)
    memory.keep_freed_memory()
    with progress.status("export") as say:
        report = export(
            args.model,
            args.out,
            args.labels,
            options=options,
            io_options=model_options.io_options(args),
            calibration=calibration,
            ranges=args.ranges,
            verify_seconds=args.verify,
            progress=say,
            earlier_problems=problems,
        )
    for warning in report.warnings:
        say_warning(warning)
    if args.json:
        print(json.dumps(report.as_json(), indent=1))
    else:
        advice = many_programs.advice(report, args.uniform_vectors)
        from_arrays = any(path.suffix.lower() in FILES for path in calibration)
        command = _command(report, args.out, from_arrays=from_arrays)
        print_report(report, args.out, explain=args.explain, command=command, advice=advice)
    if args.strict:
        _require_small_errors(args, report)
    return 0


def _options(args: argparse.Namespace) -> Options:
    """Return the compiler's options.

    Raises:
        InputError: a mode or number of bits for a layer is invalid.
    """
    from glsl_infer.compiler.build import Options

    return Options(
        weights=args.weights,
        weights_for=dict(_layer_and_mode(text) for text in args.weights_for),
        layout=args.layout,
        memory=args.memory,
        percentile=args.percentile,
        uniform_vectors=args.uniform_vectors,
        weight_bits=args.weight_bits,
        draw_cost=args.draw_cost,
        precision=args.precision,
        precision_for=dict(_layer_and_bits(text) for text in args.precision_for),
        tolerance=args.tolerance,
        budget=args.budget,
        delegate=args.delegate,
        delegate_for=tuple(args.delegate_for),
    )


def _require_small_errors(args: argparse.Namespace, report: ExportReport) -> None:
    """Raise ``RunError`` if an output is expected to differ too much on new images."""
    large_errors = [output.output for part in report.unseen for output in part.outputs if not output.is_small]
    if large_errors:
        names = ", ".join(f"'{name}'" for name in large_errors)
        raise RunError(
            f"--strict: {args.out} was written, but differs too much from {args.model} in {names}; see the warning"
        )


def _command(report: ExportReport, out: Path, *, from_arrays: bool) -> str:
    """Return the command that runs the exported model."""
    from glsl_infer.bundle.manifest import NUMBERS

    files = "IMAGE"
    if len(report.inputs) > 1:
        files = " ".join(f"--input {shlex.quote(f'{name}=FILE')}" for name in report.inputs)
    elif from_arrays or NUMBERS in report.inputs.values():
        files = "FILE.npy"
    name = "classify" if report.classes and files == "IMAGE" else "run"
    return f"glsl-infer {name} {shlex.quote(str(out))} {files}"


_positive = arguments.number(float, "a number larger than 0", lambda value: 0.0 < value < math.inf)
_array = arguments.number(
    int,
    f"{LEAST_ARRAY} to {LONGEST_ARRAY}, below GL_MAX_FRAGMENT_UNIFORM_VECTORS of the target (glsl-infer info prints "
    "it)",
    lambda length: LEAST_ARRAY <= length <= LONGEST_ARRAY,
)


def _uniform_vectors(text: str) -> int:
    """Return the longest uniform array from a number or the name of a target."""
    return LONGEST_ARRAY if text == VIDEOCORE else _array(text)


def _layer_and_mode(text: str) -> tuple[str, str]:
    """Return both parts of a --weights-for. The name of a layer can have an equals sign."""
    layer, equals, mode = text.rpartition("=")
    if not equals or mode not in WEIGHTS_MODES:
        raise InputError(f"--weights-for {text}; give LAYER=MODE, where MODE is one of {', '.join(WEIGHTS_MODES)}")
    return layer, mode


def _layer_and_bits(text: str) -> tuple[str, int]:
    """Return both parts of a --precision-for."""
    layer, equals, bits = text.rpartition("=")
    if not equals or bits not in map(str, BITS):
        raise InputError(f"--precision-for {text}; give LAYER=BITS, where BITS is 8 or 16")
    return layer, int(bits)
