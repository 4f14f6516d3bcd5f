"""Run any model on an image, or on images and numbers, and print or write its outputs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glsl_infer.cli import arguments, ends, execution, progress
from glsl_infer.cli.run_results import as_probabilities, report, save, sides
from glsl_infer.cli.terminal_text import say_warning
from glsl_infer.errors import InputError
from glsl_infer.support.files import output_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from glsl_infer.bundle import Bundle
    from glsl_infer.bundle.manifest import Manifest, Output
    from glsl_infer.runtime.session import Session

ALL = (".npz", ".json")
"""What holds all outputs of a model."""

ARRAY = ".npy"


EXAMPLES = (
    "glsl-infer run model.glslnn photo.jpg",
    "glsl-infer run model.glslnn photo.jpg --whole -o large.png",
    "glsl-infer run model.glslnn --input left=a.jpg --input right=b.npy -o outputs.npz",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", type=Path, metavar="MODEL.glslnn", help="The exported model.")
    parser.add_argument("picture", type=Path, nargs="?", metavar="IMAGE", help="The image for a model with one input.")
    inputs = arguments.group(parser, "Inputs")
    inputs.add_argument("--images", type=Path, metavar="IMAGE", help="The same as IMAGE, as an option.")
    inputs.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="The file of one input; repeat it for each. A file is an image, or numbers as *.npy, *.json or *.csv. One "
        "*.npz file alone contains all inputs by their names.",
    )
    inputs.add_argument(
        "--whole",
        action="store_true",
        help="Keep the size of the image: run the model on overlapping tiles and join the resulting images (default: "
        "the image is fitted to the model's size).",
    )
    inputs.add_argument(
        "--overlap",
        type=int,
        metavar="PIXELS",
        help="With --whole, the margin of a tile that is computed but not kept (default: the receptive field, so that "
        "no seam shows; 8 if that is too large).",
    )
    output = arguments.group(parser, "Output")
    output.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="FILE",
        help="The file to write: *.npz or *.json for all outputs by their names, *.npy for the only output, *.png or "
        "another image format for the only image or mask.",
    )
    output.add_argument(
        "--top", type=int, metavar="N", help="Of an output for classes, print the N largest values, largest first."
    )
    output.add_argument(
        "--softmax", action="store_true", help="Convert an output for classes to probabilities if it has none yet."
    )
    arguments.add_context(parser)
    execution.add_selfcheck(parser)
    ends.add_operator(parser)
    execution.add_signature(parser)
    output.add_argument(
        "--check-ranges",
        action="store_true",
        help="Draw layer by layer as well, and warn of layers whose ranges clip values of this input.",
    )
    arguments.add_json(parser, "Print JSON: files, shapes of the outputs, and values and labels of vectors.")


def run(args: argparse.Namespace) -> int:
    """Run the model, then write or print what comes out. Whatever was given is looked at before a context is made."""
    from glsl_infer.runtime import known_shaders

    args.picture = args.picture or args.images
    _check_order(args)
    execution.check_signature(args)
    ends.load_operators(args.operator, draws=True)
    _check_arguments(args)
    bundle = known_shaders.read(args.model)
    files = _files(args, bundle.manifest)
    try:
        drawn = _check_model(args, bundle)
    except InputError as error:
        raise InputError(f"{args.model}: {error}") from None
    results = _whole(args, bundle, drawn) if args.whole else _results(args, bundle, files)
    if args.softmax:
        results = as_probabilities(results, bundle)
    if args.out is not None:
        save(results, args.out, bundle, drawn)
    report(args, bundle, results, drawn)
    return 0


def _files(args: argparse.Namespace, manifest: Manifest) -> dict[str, Path] | Path:
    """Return the file of each input by name, or the one file that holds all."""
    names = [entry.name for entry in manifest.inputs]
    listed = ", ".join(f"'{entry.name}' ({entry.kind}, {sides(entry.shape)})" for entry in manifest.inputs)
    if args.picture is not None:
        if args.input:
            raise InputError("give PICTURE or --input, not both")
        if len(names) != 1:
            raise InputError(f"{args.model} has the inputs {listed}; give --input NAME=FILE for each")
        return {names[0]: args.picture}
    files: dict[str, Path] = {}
    for given in args.input:
        name, equals, file = given.partition("=")
        if name not in names and given.lower().endswith(".npz") and len(args.input) == 1:
            return Path(given)
        if not equals or name not in names or name in files or not file:
            raise InputError(f"--input {given}; give NAME=FILE once for each input; {args.model} has {listed}")
        files[name] = Path(file)
    missing = [name for name in names if name not in files]
    if missing:
        raise InputError(f"no file for input '{missing[0]}'; {args.model} has the inputs {listed}")
    return files


def _results(args: argparse.Namespace, bundle: Bundle, files: Mapping[str, Path] | Path) -> dict[str, NDArray[Any]]:
    """Return every output by its name."""
    from glsl_infer.bundle.manifest import NUMBERS
    from glsl_infer.cli import number_files
    from glsl_infer.support import arrays

    shapes = {entry.name: entry.shape for entry in bundle.manifest.inputs if entry.kind == NUMBERS}
    if isinstance(files, Path):
        held = arrays.load_arrays(files)
        given = {name: arrays.in_shape(array, shapes.get(name, array.shape)) for name, array in held.items()}
    else:
        given = {entry.name: number_files.read_input(files[entry.name], entry) for entry in bundle.manifest.inputs}
    with _session(args, bundle) as session:
        if args.check_ranges:
            _warn_of_clipping(session, given)
        return dict(session.run(given))


def _warn_of_clipping(session: Session, inputs: Mapping[str, Any]) -> None:
    """Print a warning if ranges clip values of an input, or else that they do not."""
    from glsl_infer.runtime import saturation

    found = session.saturation(inputs)
    text = saturation.sentence(found)
    if text:
        say_warning(text)
    else:
        most = f"at most {100.0 * found[0].share:.2g} % of a layer's values" if found else "no value"
        print(f"ranges cover this input: {most} at an end of a range", file=sys.stderr)


@contextmanager
def _session(args: argparse.Namespace, bundle: Bundle) -> Iterator[Session]:
    """Yield a session, once the driver is known to compute the model right."""
    from glsl_infer.runtime.session import Session

    with Session(bundle, context=args.context, isolated=execution.isolation(args)) as session:
        if not args.no_selfcheck:
            progress.first_use(session)
        yield session


def _whole(args: argparse.Namespace, bundle: Bundle, drawn: Output | None) -> dict[str, NDArray[Any]]:
    """Return the only output for a whole picture: bytes where it becomes a picture file, else numbers."""
    import numpy as np

    from glsl_infer.runtime import images
    from glsl_infer.runtime.pictures import preprocess

    picture = np.asarray(preprocess.open_image(args.picture))
    with _session(args, bundle) as session:
        whole = images.run_whole(session, picture, overlap=args.overlap, raw=drawn is None, watch=progress.bar)
    return {bundle.manifest.output.name: whole[..., None] if whole.ndim == 2 else whole}


def _check_order(args: argparse.Namespace) -> None:
    """Refuse a picture in the model's place."""
    from glsl_infer.bundle import SUFFIX

    given = args.picture
    if given is not None and given.suffix.lower() == SUFFIX and args.model.suffix.lower() != SUFFIX:
        raise InputError(f"the model comes first: glsl-infer run {given} {args.model}")


def _check_arguments(args: argparse.Namespace) -> None:
    """Refuse arguments that no model makes sense of."""
    from glsl_infer.runtime import images

    if args.picture is None and not args.input:
        raise InputError("give a PICTURE, or --input NAME=FILE for each input of the model")
    if args.top is not None and args.top < 1:
        raise InputError(f"--top {args.top}; give 1 or more")
    if args.overlap is not None and not args.whole:
        raise InputError("--overlap needs --whole; give both")
    if args.whole and args.check_ranges:
        raise InputError("--check-ranges needs an input of the model's size; leave --whole out")
    if args.whole and args.picture is None:
        raise InputError("--whole needs an image; give MODEL.glslnn IMAGE")
    if args.out is None:
        return
    if args.out.suffix.lower() not in (*ALL, ARRAY):
        images.format_of(args.out)
    if not args.out.parent.is_dir():
        raise InputError(f"{args.out.parent}: no such folder")
    output_file(args.out)


def _check_model(args: argparse.Namespace, bundle: Bundle) -> Output | None:
    """Refuse arguments that do not go with what the model makes; return the output that becomes a picture file."""
    from glsl_infer.runtime import images
    from glsl_infer.runtime.pictures import tiling

    outputs = bundle.manifest.outputs
    if (args.top is not None or args.softmax) and all(output.purpose != "classes" for output in outputs):
        option = "--softmax" if args.softmax else "--top"
        raise InputError(f"{option} needs an output for classes, and the model has none; leave it out")
    if args.whole:
        size = bundle.manifest.input.size
        tiling.factor_of(images.output_shape(bundle), size)
        if args.overlap is not None:
            tiling.spans(size, size, args.overlap)
    if args.out is None:
        maps = [output for output in outputs if len(output.shape) > 1]
        if maps:
            what = "an image" if maps[0].purpose == "image" else f"'{maps[0].name}'"
            raise InputError(f"makes {what} of {sides(maps[0].shape)}; say with -o where to, {_where_to(maps)}")
        return None
    suffix = args.out.suffix.lower()
    if suffix in ALL:
        return None
    if suffix == ARRAY:
        if len(outputs) > 1:
            raise InputError(f"{len(outputs)} outputs do not go into one array; -o OUT.npz writes all of them")
        return None
    drawn = [output for output in outputs if output.purpose in ("image", "mask")]
    drawn = drawn or [output for output in outputs if len(outputs) == 1]
    if len(drawn) != 1:
        raise InputError(f"{len(drawn)} outputs are images or masks, and a picture file holds 1; give -o OUT.npz")
    if drawn[0].purpose != "mask" or len(drawn[0].shape) != 2:
        try:
            images.check_picture(drawn[0].shape)
        except InputError as error:
            raise InputError(f"{error}; -o OUT{ARRAY} writes its numbers") from None
    return drawn[0]


def _where_to(maps: list[Output]) -> str:
    return "such as -o OUT.png" if len(maps) == 1 and maps[0].purpose != "values" else "such as -o OUT.npz"
