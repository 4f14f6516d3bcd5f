"""Learn the ranges of the catalogue's networks, and what else pictures tell, for ``glsl-infer get`` to export with.

    glsl-infer get face-mesh                           # fetches files
    python scripts/catalogue_ranges.py [NAME ...]      # writes glsl_infer/tools/get/ranges/NAME.json

Run it after changes to importers, to the choice of ranges and 16-bit maps, or to how weights lie in textures.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from glsl_infer.errors import GlslInferError
from glsl_infer.tools import ranges_file
from glsl_infer.tools.calibrate import calibrate
from glsl_infer.tools.get import catalogue, making


def main() -> int:
    """Write the files of some networks, or of all that were fetched, and say how large they are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="networks (default: all that were fetched)")
    names = parser.parse_args().names
    models = catalogue.read()
    try:
        wanted = catalogue.chosen(names, models) if names else [*models.values()]
        for model in wanted:
            if model.weights_of or not making.kept_file(model).is_file():
                print(f"{model.name}: not fetched" if not model.weights_of else f"{model.name}: comes by hand alone")
                continue
            before = time.process_time()
            out = making.ranges_of(model)
            out.parent.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="glsl-infer-") as folder:
                pictures = making.pictures_of(model, Path(folder))
                found = calibrate(making.kept_file(model), out, pictures, options=making.options_of(model))
            fine = {name: ends for name, ends in found.known.fine.items() if name in (found.known.sixteen or ())}
            ranges_file.write(replace(found, known=replace(found.known, fine=fine)), out)  # what get needs, no more
            print(f"{model.name}: {out.stat().st_size} bytes, {time.process_time() - before:.1f} s of CPU", flush=True)
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
