"""Compare an exported model with its original on your images: the outputs and every layer."""

from __future__ import annotations

import argparse
import math
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glsl_infer.cli import arguments, model_options, progress
from glsl_infer.cli.terminal_text import print_result, say_warning
from glsl_infer.errors import InputError, RunError
from glsl_infer.runtime.pictures import paths as pictures
from glsl_infer.support import files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from glsl_infer.bundle import Bundle

WORST_LAYERS = 3
"""Number of layers printed without ``--explain``."""

_LOWEST = {"cosine": "--min-cosine", "top1": "--min-top1", "sqnr_db": "--min-sqnr"}
_HIGHEST = {"max_error": "--max-error", "mean_error": "--max-mean-error"}


EXAMPLES = (
    "glsl-infer validate model.keras model.glslnn --images photos/",
    "glsl-infer validate model.keras model.glslnn --images photos/ -o report.html",
    "glsl-infer validate model.onnx model.glslnn --images photos/ --min-cosine 0.999",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="The Keras, TensorFlow Lite or ONNX model.")
    parser.add_argument("bundle", type=Path, metavar="MODEL.glslnn", help="The exported model.")
    parser.add_argument(
        "--images",
        dest="data",
        type=Path,
        required=True,
        metavar="DIR",
        help="An image or a folder of images; *.npy or *.npz files if the model has other inputs.",
    )
    arguments.accept(parser, "--images", "--data", "--calibrate")
    parser.add_argument(
        "--limit",
        type=arguments.count,
        default=100,
        metavar="N",
        help="The largest number of images, taken evenly from the folder (default: 100).",
    )
    parser.add_argument(
        "--layer-images",
        dest="layer_pictures",
        type=arguments.count,
        default=4,
        metavar="N",
        help="The number of images that are compared layer by layer (default: 4).",
    )
    arguments.accept(parser, "--layer-images", "--layer-pictures")
    parser.add_argument(
        "-o",
        "--out",
        dest="report",
        type=Path,
        metavar="FILE.html",
        help="Write a page with the error of each layer.",
    )
    arguments.accept(parser, "--out", "--report")
    _add_limits(parser)
    arguments.group(parser, "Report").add_argument(
        "--explain", action="store_true", help=f"Print all compared layers (default: the {WORST_LAYERS} worst)."
    )
    model_options.add(
        parser, "--input-range", "--input-shape", "--constant", input_range="as exported; other values are refused"
    )
    arguments.add_context(parser)
    arguments.add_json(parser, "Print everything as JSON.")


def _add_limits(parser: argparse.ArgumentParser) -> None:
    # Every comparison with NaN is false: each check would pass.
    threshold = arguments.number(float, "a number", lambda value: not math.isnan(value))
    limits = arguments.group(parser, "Limits (beyond one of them, the exit code is 1)")
    limits.add_argument(
        "--min-cosine",
        type=threshold,
        default=0.99,
        metavar=arguments.SHARE,
        help="The lowest cosine similarity of an output (default: 0.99).",
    )
    limits.add_argument(
        "--min-top1",
        type=threshold,
        default=0.95,
        metavar=arguments.SHARE,
        help="The lowest share of images with the same first label (default: 0.95).",
    )
    limits.add_argument(
        "--min-sqnr",
        type=threshold,
        metavar="DB",
        help="The lowest signal-to-quantisation-noise ratio of an output, in dB.",
    )
    limits.add_argument(
        "--max-error", type=threshold, metavar="ERROR", help="The largest error of any value of an output."
    )
    limits.add_argument(
        "--max-mean-error", type=threshold, metavar="ERROR", help="The largest mean error of an output."
    )
    limits.add_argument(
        "--min-layer-cosine",
        type=threshold,
        metavar=arguments.SHARE,
        help="The lowest cosine similarity of every layer (default: not checked).",
    )


def run(args: argparse.Namespace) -> int:
    """Compare, print a table, write the report, and fail if a threshold is exceeded."""
    from glsl_infer import bundle as bundles
    from glsl_infer.tools.validate import compare, verdict

    if args.model.suffix.lower() == bundles.SUFFIX:
        if args.bundle.suffix.lower() != bundles.SUFFIX:
            raise InputError(f"the original comes first: glsl-infer validate {args.bundle} {args.model}")
        raise InputError(f"{args.model}: is exported already; give the model that {args.bundle} was made from")
    model_options.prepare_import(args, draws=True)
    _check(args)
    bundle = bundles.read(args.bundle)
    samples, skipped = _samples(args, bundle)
    total = len(samples) + skipped
    with progress.counter(compare.steps(len(samples), args.layer_pictures), "steps", "validate") as done:
        agreement = compare.compare(
            args.model,
            bundle,
            samples,
            layer_pictures=args.layer_pictures,
            io_options=model_options.io_options(args),
            context=args.context,
            is_too_different=lambda agreement: _failures(args, agreement),
            explain=args.report is not None,
            progress=done,
        )
    agreement = {"model": str(args.model), "bundle": str(args.bundle), "skipped": skipped, "asked": total, **agreement}
    failures = _failures(args, agreement)
    if args.report is not None:
        from glsl_infer.tools.validate.page import page

        files.write_output(args.report, page(agreement, failures))
    causes = ["", *verdict.sentences(agreement)] if failures else []
    print_result(args, {**agreement, "failures": failures}, [*_text(agreement, every_layer=args.explain), *causes])
    if failures:
        raise RunError("; ".join(failures))
    return 0


def _check(args: argparse.Namespace) -> None:
    from glsl_infer import importers

    if not importers.exists(args.model):
        raise InputError(f"{args.model}: no such file; give a saved model (*.keras, *.tflite, *.onnx)")
    importers.require_readable(args.model)
    if args.report is not None:
        files.check_output(args.report, ".html", ".htm", option="--out")


def _samples(args: argparse.Namespace, bundle: Bundle) -> tuple[list[Mapping[str, NDArray[Any]]], int]:
    """Return typical inputs as the network reads them, and the number of unreadable files."""
    from glsl_infer.graph.reference import by_name
    from glsl_infer.tools import calibration

    # A file of arrays can hold several samples.
    paths = pictures.find([args.data], also=calibration.FILES, warn=say_warning)
    count = min(args.limit, len(paths))
    samples: list[Mapping[str, NDArray[Any]]] = []
    skipped = 0
    chosen = [paths[index * len(paths) // count] for index in range(count)]
    for path in progress.bar(chosen, "images", "validate: reading"):
        try:
            samples += [by_name(bundle.graph, sample) for sample in calibration.samples(bundle.graph, [path])]
        except InputError as error:
            skipped += 1
            say_warning(f"{error}; left out")
    if not samples:
        raise InputError(f"{args.data}: none of the images can be read")
    count = min(args.limit, len(samples))
    return [samples[index * len(samples) // count] for index in range(count)], skipped


def _failures(args: argparse.Namespace, agreement: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each value beyond a threshold."""
    failures = []
    for output in agreement["outputs"]:
        subject = "the output's" if len(agreement["outputs"]) == 1 else f"output '{output['name']}':"
        # Class indices of a mask are not quantities. Only their agreement counts.
        values = {"top1": output["same"]} if "same" in output else output
        for key, option in {**_LOWEST, **_HIGHEST}.items():
            value, bound = values.get(key), getattr(args, option[2:].replace("-", "_"))
            if bound is None or value is None:  # no threshold given, value undefined, or no classes
                continue
            is_within = value >= bound if key in _LOWEST else value <= bound  # false for NaN
            if not is_within:
                side = "below" if key in _LOWEST else "above"
                failures.append(f"{subject} {key.replace('_', ' ')} is {value:.6g}, {side} {option} {bound:g}")
    if args.min_layer_cosine is not None:
        failures += [
            f"layer '{layer['layer']}' has a cosine similarity of {layer['cosine']:.6g}, below --min-layer-cosine "
            f"{args.min_layer_cosine:g}"
            for layer in agreement["layers"]
            if not layer["cosine"] >= args.min_layer_cosine
        ]
    return failures


def _sample_count(agreement: Mapping[str, Any]) -> str:
    """Return the number of compared images, and of the requested images if it differs."""
    compared, total = agreement["pictures"], agreement["asked"]
    images = f"{compared} image{'s' * (compared != 1)}"
    return images if compared == total else f"{images} (of {total} requested)"


def _text(agreement: dict[str, Any], *, every_layer: bool) -> list[str]:
    """Return the result as text: the error of each output, then the layers with the largest errors or all."""
    from glsl_infer.tools.validate.page import decibels

    lines = [
        f"{agreement['framework']:10} {agreement['model']} ({agreement['beside']})",
        f"{'GPU':10} {agreement['bundle']} ({agreement['driver']})",
        "",
    ]
    for output in agreement["outputs"]:
        subject = "probabilities" if output["softmax"] else "outputs"
        subject = subject if len(agreement["outputs"]) == 1 else f"'{output['name']}'"
        lines.append(
            f"{subject} of {_sample_count(agreement)}: cosine similarity {output['cosine']:.6f} "
            f"(worst image {output['worst_cosine']:.6f}), SQNR {decibels(output['sqnr_db'])}, "
            f"largest error {output['max_error']:.4g}, mean error {output['mean_error']:.4g}"
        )
        if "top1" in output:
            lines.append(f"same first label: {100 * output['top1']:.2f} %")
        if "same" in output:
            lines.append(f"same class of a pixel: {100 * output['same']:.2f} %")
    layers = agreement["layers"]
    if not every_layer:
        layers = sorted(layers, key=itemgetter("cosine"))[:WORST_LAYERS]
    if layers:
        lines += ["", *_layer_lines(layers)]
        hidden = len(agreement["layers"]) - len(layers)
        lines += [f"layers with smaller errors: {hidden} (--explain shows them)"] if hidden else []
    if agreement["not_compared"] and every_layer:
        lines += [f"layers without a counterpart in the model: {', '.join(agreement['not_compared'])}"]
    return lines


def _layer_lines(layers: Sequence[dict[str, Any]]) -> list[str]:
    """Return the table of the errors of layers."""
    from glsl_infer.tools.validate.page import clipped_share, decibels

    name_width = max(5, *(len(layer["layer"]) for layer in layers))
    return [
        f"{'layer':{name_width}} {'cosine':>9} {'max err':>9} {'mean err':>9} {'SQNR':>9} {'clipped':>8}  "
        "layer of the model",
        *(
            f"{layer['layer']:{name_width}} {layer['cosine']:9.6f} {layer['max_error']:9.4g} "
            f"{layer['mean_error']:9.4g} {decibels(layer['sqnr_db']):>9} {clipped_share(layer):>8}  {layer['computes']}"
            for layer in layers
        ),
    ]
