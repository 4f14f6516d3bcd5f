"""Turn a Keras, TensorFlow Lite or ONNX model into a .glslnn file."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from glsl_infer.bundle import SUFFIX
from glsl_infer.cli import ends, progress
from glsl_infer.compiler.ranges.precision import AUTO, BITS, PRECISIONS
from glsl_infer.compiler.sharing import MEMORY
from glsl_infer.errors import InputError
from glsl_infer.lowering.conv_texture import WEIGHT_BITS
from glsl_infer.lowering.weights_plan import LEAST_ARRAY, LONGEST_ARRAY, UNIFORM_VECTORS, WEIGHTS_MODES
from glsl_infer.program.layout import LAYOUTS
from glsl_infer.runtime.pictures import paths as pictures
from glsl_infer.support.files import output_file

if TYPE_CHECKING:
    from glsl_infer.compiler.ranges.sensitivity import Spent
    from glsl_infer.tools.export import ExportReport
    from glsl_infer.tools.videocore.verify import Verification

VIDEOCORE = "videocore"
"""The target whose driver has long uniform arrays: Mesa's for the Raspberry Pi reports 4,095 fragment vectors."""

MAX_CALIBRATION = 64

VERIFY_SECONDS = 20.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "model", type=Path, metavar="MODEL", help="a saved Keras model, *.keras, or *.tflite, or *.onnx"
    )
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE.glslnn", help="the file to write")
    parser.add_argument("--labels", type=Path, help="text file with one label a line, where an output is for classes")
    parser.add_argument(
        "--weights",
        choices=WEIGHTS_MODES,
        default="auto",
        help="weights as constants (a program a slice), in uniform arrays (few programs), in textures (few draws), or "
        "for each layer whichever costs least (the default; --explain says why)",
    )
    parser.add_argument(
        "--weights-for",
        action="append",
        default=[],
        metavar="LAYER=MODE",
        help="the same for one layer, by the name that --explain prints; may be given several times",
    )
    parser.add_argument(
        "--uniform-vectors",
        type=_uniform_vectors,
        default=UNIFORM_VECTORS,
        metavar="N",
        help=f"the longest uniform array in vec4, {LEAST_ARRAY} to {LONGEST_ARRAY} (default: {UNIFORM_VECTORS}, which "
        f"nearly all phones have), or '{VIDEOCORE}' for a Raspberry Pi with Mesa, whose driver reports 4095: "
        f"{LONGEST_ARRAY}; older Pi drivers have 136",
    )
    parser.add_argument(
        "--weight-bits",
        choices=WEIGHT_BITS,
        default="auto",
        help="of weights in textures: 8 where that adds little noise and halves the fetches (auto), or 16",
    )
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default=AUTO,
        help="bits of feature maps: 16 for outputs that are numbers, for what these are made of where it costs little, "
        "and with --calibrate for what takes most off the outputs' error for an eighth more work (auto), 8 for all, or "
        "16 for all; a map in 16 bits takes twice the draws and fetches",
    )
    parser.add_argument(
        "--precision-for",
        action="append",
        default=[],
        metavar="LAYER=BITS",
        help="8 or 16 bits for one layer, by the name that the report prints; may be given several times",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="E",
        help="store more maps in 16 bits, those that gain most for a millisecond first, until outputs differ from the "
        "float network's by at most E: root mean square, as a share of their spread, e.g. 0.01; needs --calibrate",
    )
    parser.add_argument(
        "--budget",
        type=float,
        metavar="MS",
        help="the same, until about MS milliseconds of a Pi Zero W's frame are spent",
    )
    parser.add_argument(
        "--layout", choices=LAYOUTS, default="atlas", help="all slices of a layer in one texture, or a texture for each"
    )
    parser.add_argument(
        "--memory",
        choices=MEMORY,
        default="auto",
        help="how layers share textures: naive (not at all), greedy in order of execution or by size, a minimum-cost "
        "flow (needs networkx), or whichever takes the fewest bytes (the default)",
    )
    parser.add_argument(
        "--calibrate",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help=f"typical pictures (at most {MAX_CALIBRATION} are used, from all over the folder), for the ranges of ReLU "
        "and linear layers, and for 16-bit scales that would be too coarse otherwise; a model with other inputs takes "
        "*.npz files, or a folder of them, with an array for each input; may be given several times",
    )
    parser.add_argument(
        "--ranges",
        type=Path,
        metavar="FILE.json",
        help="ranges that glsl-infer calibrate learnt before, instead of pictures",
    )
    parser.add_argument(
        "--percentile",
        type=float,
        default=100.0,
        metavar="P",
        help="how much of a channel's values its range covers, e.g. 99.99 (default: 100, which weighs what saturates "
        "against coarser steps)",
    )
    ends.add_input_range(parser)
    ends.add_fit(parser)
    ends.add_input_size(parser)
    ends.add_outputs(parser)
    ends.add_purpose(parser)
    parser.add_argument(
        "--delegate",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="let the CPU compute layers that no shader can, in parts between those of the GPU (the default); "
        "--no-delegate refuses them",
    )
    parser.add_argument(
        "--delegate-for",
        action="append",
        default=[],
        metavar="LAYER",
        help="let the CPU compute this layer whatever shaders can; may be given several times",
    )
    ends.add_operator(parser)
    ends.add_max_weights(parser)
    parser.add_argument(
        "--verify",
        type=float,
        default=VERIFY_SECONDS,
        metavar="SECONDS",
        help="how long to compile the shaders with VideoCore IV's driver, where scripts/vc4/build.sh has built it "
        "(default: %(default)g; 0: not at all)",
    )
    parser.add_argument(
        "--explain", action="store_true", help="print for each layer where its weights are and what else would cost"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Export and print the report."""
    from glsl_infer.compiler.build import Options
    from glsl_infer.tools.calibration import NUMBERS
    from glsl_infer.tools.export import export

    if args.out.suffix != SUFFIX:
        raise InputError(f"{args.out}: name the file *{SUFFIX}")
    if not args.out.parent.is_dir():
        raise InputError(f"{args.out.parent}: no such folder")
    output_file(args.out)
    if not 50.0 < args.percentile <= 100.0:
        raise InputError(f"--percentile {args.percentile:g}; give more than 50, and 100 at most")
    if not LEAST_ARRAY <= args.uniform_vectors <= LONGEST_ARRAY:
        raise InputError(
            f"--uniform-vectors {args.uniform_vectors}; give {LEAST_ARRAY} to {LONGEST_ARRAY}, less than what "
            "GL_MAX_FRAGMENT_UNIFORM_VECTORS is where the model will run (glsl-infer info prints it)"
        )
    for name in ("tolerance", "budget"):
        given = getattr(args, name)
        if given is not None and not 0.0 < given < math.inf:
            raise InputError(f"--{name} {given:g}; give a number larger than 0")
    if not 0.0 <= args.verify < math.inf:
        raise InputError(f"--verify {args.verify:g}; give a number of seconds, or 0")
    calibration: list[Path] = []
    known: list[InputError] = []
    try:
        calibration = spread(pictures.find(args.calibrate, also=(NUMBERS,)), MAX_CALIBRATION)
    except InputError as error:
        known.append(error)
    options = Options(
        weights=args.weights,
        weights_for=dict(_layer_and_mode(text) for text in args.weights_for),
        layout=args.layout,
        memory=args.memory,
        percentile=args.percentile,
        uniform_vectors=args.uniform_vectors,
        weight_bits=args.weight_bits,
        input_ranges=ends.by_name("--input-range", args.input_range),
        fits=ends.by_name("--fit", args.fit),
        purposes=ends.by_name("--purpose", args.purpose),
        input_sizes=ends.by_name("--input-size", args.input_size),
        outputs=args.outputs,
        precision=args.precision,
        precision_for=dict(_layer_and_bits(text) for text in args.precision_for),
        tolerance=args.tolerance,
        budget=args.budget,
        delegate=args.delegate,
        delegate_for=tuple(args.delegate_for),
    )
    ends.allow_weights(args.max_weights)
    ends.load_operators(args.operator)
    with progress.status("export") as tell:
        report = export(
            args.model,
            args.out,
            args.labels,
            options=options,
            calibration=calibration,
            ranges=args.ranges,
            verify_seconds=args.verify,
            tell=tell,
            known=known,
        )
    for warning in report.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if args.json:
        print(json.dumps(report.as_json(), indent=1))
        return 0
    _print_layers(report)
    if report.spent is not None:
        print(f"\n{_spent(report.spent)}")
    if args.explain:
        _print_sensitivity(report)
        _print_weights(report)
        _print_programs(report)
    _print_memory(report)
    totals = report.totals
    print()
    if report.parts:
        from glsl_infer.tools.export_parts import line

        print(line(report.parts))
    if report.videocore is not None:
        print(_verified(report.videocore))
    print(
        f"{args.out}: {totals['passes']} passes in {totals['jobs']} jobs, {totals['programs']} programs, "
        f"{totals['texture_bytes'] / 1e6:.2f} MB of textures, {totals['file_bytes'] / 1e6:.2f} MB on disk"
    )
    return 0


def spread(files: list[Path], most: int) -> list[Path]:
    """Return ``most`` of the files, from all of the list: its beginning may be one class of many."""
    count = min(most, len(files))
    return [files[index * len(files) // count] for index in range(count)]


def _print_layers(report: ExportReport) -> None:
    print(
        f"{'layer':24} {'operator':20} {'shape':>12} {'weights':>8} {'passes':>6} {'programs':>8} "
        f"{'gain':>6} {'error':>6}  texture"
    )
    for layer in report.layers:
        shape, texture = "x".join(map(str, layer.shape)), "x".join(map(str, layer.texture))
        where = f"{layer.textures} of {texture}" if layer.textures > 1 else texture
        gain = "-" if layer.gain is None else f"{layer.gain:.4g}"
        error = "-" if layer.error is None else f"{layer.error:.2f}"
        print(
            f"{layer.layer:24} {layer.op:20} {shape:>12} {layer.weights:>8} {layer.passes:6} {layer.programs:8} "
            f"{gain:>6} {error:>6}  {where}"
        )
    learnt = [choice for choice in report.ranges if choice.by != "function"]
    if learnt:
        print(f"\n{'8-bit feature map':24} {'lowest':>10} {'highest':>10} {'narrowest':>10}  learnt by")
        for chosen in learnt:
            print(f"{chosen.layer:24} {chosen.low:10.4g} {chosen.high:10.4g} {chosen.narrowest:10.4g}  {chosen.by}")
    if report.precision:
        print(f"\n{'16-bit feature map':24} {'passes':>6} {'added work':>10}  because")
        passes = {layer.layer: layer.passes for layer in report.layers}
        for fine in report.precision:
            print(f"{fine.layer:24} {passes.get(fine.layer, 0):6} {fine.added:10.1%}  {fine.why}")
    if report.wide:
        print(f"\n{'wide convolution':24} {'slices read':>11} {'partial sums':>12} {'passes':>6}")
        for wide in report.wide:
            print(f"{wide.layer:24} {wide.slices:11} {wide.blocks:12} {wide.passes:6}")
    print(f"\n{'16-bit values':24} {'bound':>10} {'calibrated':>10} {'scale':>10} {'step':>10}  chosen by")
    for choice in report.scales:
        seen = "-" if choice.calibrated is None else f"{choice.calibrated:.4g}"
        print(
            f"{choice.layer:24} {choice.bound:10.4g} {seen:>10} {choice.scale:10.4g} {choice.step:10.3g}  {choice.by}"
        )


def _uniform_vectors(text: str) -> int:
    """Return the longest uniform array by a number or the name of a target."""
    return LONGEST_ARRAY if text == VIDEOCORE else int(text)


def _layer_and_mode(text: str) -> tuple[str, str]:
    """Return both parts of a --weights-for; a layer's own name may have an equals sign."""
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


def _spent(spent: Spent) -> str:
    """Return a line on what 16 bits were spent on, and what is left of the error."""
    fine = [layer for layer in spent.layers if layer.bits == 16]
    cost = sum(layer.milliseconds for layer in fine)
    asked = [f"tolerance {spent.tolerance:g}"] if spent.tolerance is not None else []
    asked += [f"budget {spent.budget:g} ms"] if spent.budget is not None else []
    missed = " is not reached" if spent.tolerance is not None and spent.error > spent.tolerance else ""
    if spent.share is not None:
        missed = f"{missed} with {100.0 * spent.share:.0f} % more work" if missed else ""
    return (
        f"outputs differ from floats by {spent.before:.3g} of their spread before, and {spent.error:.3g} with "
        f"{len(fine)} of {len(spent.layers)} maps in 16 bits, about {cost:.2f} ms on a Pi Zero W "
        f"({', '.join(asked)}{missed})"
    )


def _print_sensitivity(report: ExportReport) -> None:
    if report.spent is None:
        return
    why = {choice.layer: choice.why for choice in report.precision}
    print(f"\n{'rounded to 8 bits alone':24} {'error':>9} {'16 bits, ms':>11} {'bits':>4}  because")
    for layer in report.spent.layers:
        reason = why.get(layer.layer, "it gains less for its time")
        print(f"{layer.layer:24} {layer.error:9.3g} {layer.milliseconds:11.3f} {layer.bits:4}  {reason}")


def _print_weights(report: ExportReport) -> None:
    modes = ("baked", "uniform", "texture")
    print(f"\n{'us a frame (Pi Zero W)':24} {'slices':>6} {'pixels':>7} {'columns':>7}", end="")
    print("".join(f" {mode:>8}" for mode in modes), " taken     why")
    for choice in report.weights:
        costs = [choice.microseconds[mode] for mode in modes]
        shown = "".join(f" {'-' if cost is None else format(cost, '.0f'):>8}" for cost in costs)
        size = f"{choice.slices:6} {choice.pixels:7} {choice.columns:7}"
        print(f"{choice.layer:24} {size}{shown}  {choice.mode:8}  {choice.reason}")


def _print_programs(report: ExportReport) -> None:
    """Print what VideoCore IV's compiler makes of every layer's programs."""
    if report.videocore is None:
        return
    print(
        f"\n{'on VideoCore IV':24} {'programs':>8} {'compiled':>8} {'threads':>7} {'registers':>9} {'instructions':>12}"
    )
    for layer in report.videocore.layers:
        numbers = [
            "-" if count is None else str(count) for count in (layer.threads, layer.registers, layer.instructions)
        ]
        how = "verified" if layer.verified else "predicted to compile"
        print(
            f"{layer.layer:24} {layer.programs:8} {layer.compiled:8} {numbers[0]:>7} {numbers[1]:>9} {numbers[2]:>12}  "
            f"{layer.failure or how}"
        )


def _verified(checked: Verification) -> str:
    """Return a line that says how much of a bundle VideoCore IV's driver has compiled."""
    verified = sum(layer.verified for layer in checked.layers)
    failed = sum(bool(layer.failure) for layer in checked.layers)
    wrong = f", {failed} with a warning" if failed else ""
    said = f"VideoCore IV: {verified} of {len(checked.layers)} layers verified by its compiler{wrong}"
    rest = len(checked.layers) - verified
    return f"{said}, {rest} predicted to compile ({checked.note})" if rest else said


def _print_memory(report: ExportReport) -> None:
    print(f"\n{'activations by planner':24} {'MB':>10} {'textures':>10}")
    for use in report.memory:
        if use.texture_bytes is None:
            print(f"{use.method:24} {'-':>10} {'-':>10}  {use.note}")
        else:
            here = "  used here" if use.chosen else ""
            print(f"{use.method:24} {use.texture_bytes / 1e6:10.3f} {use.textures:10}{here}")
    print(f"{'slices alone':24} {report.totals['slice_bytes'] / 1e6:10.3f} {'':10}  of all layers, without gutters")
