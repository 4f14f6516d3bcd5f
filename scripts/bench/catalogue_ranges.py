"""Measure the ranges of the catalogue's networks, and other calibration data, for exports by ``glsl-infer get``.

    glsl-infer get face-mesh                           # fetches files
    python scripts/bench/catalogue_ranges.py [NAME ...]      # writes glsl_infer/tools/get/ranges/NAME.json
    python scripts/bench/catalogue_ranges.py --times         # writes the estimates for a Pi Zero W into catalogue.json

Run it after changes to importers, to the choice of ranges and 16-bit maps, or to the layout of weights in textures.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from glsl_infer.errors import GlslInferError
from glsl_infer.tools import ranges_file, videocore
from glsl_infer.tools.calibrate import calibrate
from glsl_infer.tools.export import export
from glsl_infer.tools.get import catalogue, exporting
from glsl_infer.tools.videocore import estimate


def main() -> int:
    """Write the files of some networks, or of all fetched networks, and report their sizes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="networks (default: all that were fetched)")
    parser.add_argument("--times", action="store_true", help="count milliseconds; learn nothing")
    args = parser.parse_args()
    names, models = args.names, catalogue.read()
    try:
        chosen = catalogue.chosen(names, models) if names else [*models.values()]
        for model in chosen:
            if model.weights_of or not exporting.stored_file(model).is_file():
                print(f"{model.name}: not fetched" if not model.weights_of else f"{model.name}: comes by hand alone")
                continue
            if args.times:
                write_time(model.name, milliseconds(model))
                continue
            before = time.process_time()
            out = exporting.ranges_of(model)
            out.parent.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="glsl-infer-") as folder:
                pictures = exporting.pictures_of(model, Path(folder))
                stored = calibrate(exporting.source_of(model), out, pictures, io_options=exporting.io_options_of(model))
            # ``get`` reads 16-bit ranges of these layers only.
            layers = stored.known.sixteen or ()
            chosen_maps = {name: value for name, value in stored.known.sixteen_bit.items() if name in layers}
            ranges_file.write(replace(stored, known=replace(stored.known, sixteen_bit=chosen_maps)), out)
            print(f"{model.name}: {out.stat().st_size} bytes, {time.process_time() - before:.1f} s of CPU", flush=True)
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def milliseconds(model: catalogue.Model) -> int:
    """Return the estimated milliseconds of a frame on a Pi Zero W, for a catalogue network as ``get`` exports it."""
    labels = None if model.labels is None else exporting.labels_of(model)
    with tempfile.TemporaryDirectory(prefix="glsl-infer-") as folder:
        path = Path(folder) / f"{model.name}.glslnn"
        export(
            exporting.source_of(model),
            path,
            labels,
            io_options=exporting.io_options_of(model),
            ranges=exporting.ranges_of(model),
        )
        report = videocore.report(*videocore.measure(path, videocore.find()), model.name)
    return round(estimate.estimate(report, estimate.BOARDS[0]).total)


def write_time(name: str, milliseconds: int) -> None:
    """Write the estimated milliseconds of a network into the catalogue."""
    text = catalogue.FILE.read_text("utf-8")
    head, mark, remainder = text.partition(f'"name": "{name}",')
    remainder = re.sub(r'"zero_ms": \d+', f'"zero_ms": {milliseconds}', remainder, count=1)
    catalogue.FILE.write_text(head + mark + remainder, "utf-8")
    print(f"{name}: {milliseconds} ms", flush=True)


if __name__ == "__main__":
    sys.exit(main())
