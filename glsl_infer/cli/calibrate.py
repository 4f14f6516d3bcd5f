"""Measure the value ranges of a model's layers on typical images, for export --ranges."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from glsl_infer.cli import arguments, ends, progress
from glsl_infer.cli.export import MAX_CALIBRATION, spread
from glsl_infer.cli.terminal_text import say_warning
from glsl_infer.runtime.pictures import paths as pictures
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
    ends.add_input_range(parser)
    ends.add_fit(parser)
    ends.add_input_size(parser)
    ends.add_input_shape(parser)
    ends.add_outputs(parser)
    ends.add_purpose(parser)
    ends.add_max_weights(parser)
    ends.add_import(parser)
    ends.add_operator(parser)
    arguments.add_json(parser, "Print a summary as JSON.")


def run(args: argparse.Namespace) -> int:
    """Measure ranges, write them, and print their number."""
    from glsl_infer.compiler.build import Options
    from glsl_infer.tools.calibrate import calibrate
    from glsl_infer.tools.calibration import FILES

    check_output(args.out, SUFFIX)
    files = spread(pictures.find(args.calibrate, also=FILES, warn=say_warning), MAX_CALIBRATION)
    options = Options(
        input_ranges=ends.by_name("--input-range", args.input_range),
        fits=ends.by_name("--fit", args.fit),
        purposes=ends.by_name("--purpose", args.purpose),
        input_sizes=ends.by_name("--input-size", args.input_size),
        input_shapes=ends.by_name("--input-shape", args.input_shape),
        constants=ends.by_name("--constant", args.constant),
        outputs=args.outputs,
    )
    ends.allow_weights(args.max_weights)
    ends.remember_modules(args.imports)
    ends.load_operators(args.operator)
    with progress.status("calibrate") as say:
        stored = calibrate(args.model, args.out, files, options=options, progress=say)
    if args.json:
        print(json.dumps({"file": str(args.out), "layers": len(stored.known.maps), "pictures": len(files)}))
    else:
        print(f"{args.out}: ranges of {len(stored.known.maps)} layers, from {len(files)} files")
    return 0
