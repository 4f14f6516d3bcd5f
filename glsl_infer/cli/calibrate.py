"""Measure the value ranges of a model's layers on typical images, for export --ranges."""

from __future__ import annotations

import argparse
from pathlib import Path

from glsl_infer.cli import arguments, model_options, progress
from glsl_infer.cli.export import MAX_CALIBRATION
from glsl_infer.cli.terminal_text import print_result, say_warning
from glsl_infer.runtime.pictures import paths as image_paths
from glsl_infer.support.files import check_output

SUFFIX = ".json"


EXAMPLES = (
    "glsl-infer calibrate model.keras --images photos/ -o ranges.json",
    "glsl-infer calibrate model.tflite --images photos/ -o ranges.json --input-range=-1,1",
    "glsl-infer calibrate model.onnx --images samples.npz -o ranges.json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "model", type=Path, metavar="MODEL", help="The model to export later: *.keras, *.tflite or *.onnx."
    )
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE.json", help="The file to write.")
    parser.add_argument(
        "--images",
        dest="calibrate",
        type=Path,
        action="append",
        required=True,
        metavar="DIR",
        help=f"Typical images, of which at most {MAX_CALIBRATION} are used, or *.npy and *.npz files. Can be repeated.",
    )
    arguments.accept(parser, "--images", "--calibrate", "--data")
    model_options.add(
        parser, "--input-range", "--fit", "--input-size", "--input-shape", "--constant", "--outputs", "--purpose"
    )
    arguments.add_json(parser, "Print a summary as JSON.")


def run(args: argparse.Namespace) -> int:
    """Measure ranges, write them, and print their number."""
    from glsl_infer.tools.calibrate import calibrate
    from glsl_infer.tools.calibration import FILES

    check_output(args.out, SUFFIX)
    files = image_paths.find(args.calibrate, also=FILES, warn=say_warning)
    files = image_paths.spread(files, MAX_CALIBRATION)
    io_options = model_options.io_options(args)
    model_options.prepare_import(args)
    with progress.status("calibrate") as report:
        stored = calibrate(args.model, args.out, files, io_options=io_options, progress=report)
    data = {"file": str(args.out), "layers": stored.layer_count, "pictures": len(files)}
    print_result(args, data, [f"{args.out}: ranges of {data['layers']} layers, from {data['pictures']} files"])
    return 0
