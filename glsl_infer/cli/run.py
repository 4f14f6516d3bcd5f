"""Run any model on images, or on images and numbers, and print or write its outputs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glsl_infer.cli import arguments, batch, execution, model_options, progress
from glsl_infer.cli.run_results import (
    TOP,
    as_json,
    as_probabilities,
    columns,
    print_results,
    report,
    row,
    save,
)
from glsl_infer.cli.terminal_text import say_warning
from glsl_infer.errors import ImageError, InputError
from glsl_infer.support.files import check_output
from glsl_infer.support.plain_text import one_line, sides

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from glsl_infer.bundle import Bundle
    from glsl_infer.bundle.manifest import Manifest, Output
    from glsl_infer.runtime.session import Session

ALL_OUTPUTS_SUFFIXES = (".npz", ".json")
"""Suffixes of files for all outputs of a model."""

ARRAY = ".npy"

DRAWABLE = ("image", "mask")
"""Purposes of outputs that become image files."""

EXAMPLES = (
    "glsl-infer run model.glslnn photo.jpg --whole -o large.png",
    "glsl-infer run model.glslnn photos/ --out-dir results/",
    "glsl-infer run model.glslnn --input left=a.jpg --input right=b.npy -o outputs.npz",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", type=Path, metavar="MODEL.glslnn", help="The exported model.")
    parser.add_argument(
        "images", type=Path, nargs="*", metavar="IMAGE", help="Images or folders of images, for a model with one input."
    )
    _add_inputs(parser)
    _add_output(parser)
    arguments.add_context(parser)
    execution.add_selfcheck(parser)
    model_options.add_operator(parser)
    execution.add_signature(parser)
    arguments.add_json(parser, "Print JSON: files, predictions, and shapes and values of other outputs.")


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    inputs = arguments.group(parser, "Inputs")
    inputs.add_argument(
        "--images",
        dest="more_images",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        metavar="IMAGE",
        help="The same as IMAGE, as an option.",
    )
    inputs.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="The file of one input; repeat it for each. A file is an image, or numbers as *.npy, *.json or *.csv. One "
        "*.npz file can contain all inputs by their names: --input FILE.npz.",
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


def _add_output(parser: argparse.ArgumentParser) -> None:
    output = arguments.group(parser, "Output")
    output.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="FILE",
        help="The file to write: *.npz or *.json for all outputs by their names, *.npy for the only output, *.png or "
        "another image format for the only image or mask.",
    )
    batch.add_arguments(parser, "a row for each image (file, error, labels with their probabilities, or values)")
    output.add_argument(
        "--top",
        type=arguments.count,
        metavar="N",
        help=f"The number of labels of an output for classes (default: {TOP}, or all with --raw).",
    )
    output.add_argument(
        "--raw",
        action="store_true",
        help="Print the values of the last layer, which are usually logits, instead of probabilities.",
    )
    output.add_argument(
        "--softmax", action="store_true", help="With -o or --out-dir, write probabilities instead of logits."
    )
    output.add_argument(
        "--check-ranges",
        action="store_true",
        help="Compute layer by layer as well, and warn of layers in which values of this input are outside the range "
        "of the export, so that they are clipped.",
    )


def run(args: argparse.Namespace) -> int:
    """Run the model, then write or print its outputs. Arguments and files are checked before a context is created."""
    from glsl_infer.runtime.verdicts import read_bundle

    paths = [*args.images, *args.more_images]
    _check_order(args, paths)
    execution.check_signature(args)
    model_options.load_operators(args.operator, draws=True)
    _check_arguments(args, paths)
    bundle = read_bundle(args.model)
    names = _input_names(args, paths, bundle.manifest)
    files = batch.files_of(args, paths, also=_array_suffixes(bundle)) if paths else []
    try:
        drawn = _check_model(args, bundle, several=len(files) > 1 or any(path.is_dir() for path in paths))
    except InputError as error:
        raise InputError(f"{args.model}: {error}") from None
    if len(files) > 1 or args.out_dir is not None or args.csv is not None or any(path.is_dir() for path in paths):
        return _run_many(args, bundle, drawn, paths, files)
    source: Path | Mapping[str, Any]
    if args.whole:
        source = files[0]
    elif args.input:
        source = _inputs(bundle, names)
    else:
        source = _inputs(bundle, {bundle.manifest.inputs[0].name: files[0]})
    with _session(args, bundle) as session:
        results = _results(session, args, source, drawn)
    if args.out is not None:
        save(as_probabilities(results, bundle) if args.softmax else results, args.out, bundle, drawn)
    report(args, bundle, results, drawn, args.input or files[0])
    return 0


def _run_many(
    args: argparse.Namespace, bundle: Bundle, drawn: Output | None, paths: Sequence[Path], files: Sequence[Path]
) -> int:
    """Run the model on every image. Unreadable images are reported and skipped."""
    name = bundle.manifest.inputs[0].name
    described = []
    with _session(args, bundle) as session, batch.opened(args, paths, files, columns(args, bundle)) as many:

        def compute(path: Path) -> dict[str, NDArray[Any]]:
            return _results(session, args, path if args.whole else _inputs(bundle, {name: path}), drawn)

        for path, results in many.results(compute):
            session.context.gl.check(f"at {path}")
            target = many.target(path, ".png" if drawn is not None else ALL_OUTPUTS_SUFFIXES[0])
            if target is not None:
                save(as_probabilities(results, bundle) if args.softmax else results, target, bundle, drawn)
            many.row([path, "", *row(args, bundle, results)])
            if args.json:
                described.append(as_json(args, bundle, results, path, target))
            elif args.csv is None and target is None:
                print(one_line(f"{path}:"))
                print_results(args, bundle, results)
    if args.json:
        print(json.dumps(described, indent=1))
    else:
        many.summary()
    return ImageError.exit_code if many.failed else 0


def _array_suffixes(bundle: Bundle) -> tuple[str, ...]:
    """Return the suffixes of input files in folders that are not images."""
    from glsl_infer.bundle.manifest import NUMBERS

    return (ARRAY, ".json", ".csv") if bundle.manifest.inputs[0].kind == NUMBERS else ()


def _input_names(args: argparse.Namespace, paths: Sequence[Path], manifest: Manifest) -> dict[str, Path] | Path:
    """Return the file of each input of ``--input`` by name, or the one file with all inputs; {} without ``--input``."""
    names = [model_input.name for model_input in manifest.inputs]
    listed = ", ".join(
        f"'{model_input.name}' ({model_input.kind}, {sides(model_input.shape)})" for model_input in manifest.inputs
    )
    if paths:
        if args.input:
            raise InputError("give IMAGE or --input, not both")
        if len(names) != 1:
            raise InputError(
                f"{args.model} has the inputs {listed}; give --input NAME=FILE for each, or one --input FILE.npz"
            )
        return {}
    files: dict[str, Path] = {}
    for pair in args.input:
        name, equals, file = pair.partition("=")
        if name not in names and pair.lower().endswith(".npz") and len(args.input) == 1:
            return Path(pair)
        if not equals or name not in names or name in files or not file:
            raise InputError(f"--input {pair}; give NAME=FILE once for each input; {args.model} has {listed}")
        files[name] = Path(file)
    missing = [name for name in names if name not in files]
    if missing:
        raise InputError(
            f"input '{missing[0]}' is missing; give --input {missing[0]}=FILE; {args.model} has the inputs {listed}"
        )
    return files


def _inputs(bundle: Bundle, files: Mapping[str, Path] | Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of all inputs by name."""
    from glsl_infer.bundle.manifest import NUMBERS
    from glsl_infer.cli import number_files
    from glsl_infer.support import arrays

    shapes = {
        model_input.name: model_input.shape for model_input in bundle.manifest.inputs if model_input.kind == NUMBERS
    }
    if isinstance(files, Path):
        loaded = arrays.load_arrays(files)
        return {name: arrays.from_file(array, shapes.get(name, array.shape)) for name, array in loaded.items()}
    return {
        model_input.name: number_files.read_input(files[model_input.name], model_input)
        for model_input in bundle.manifest.inputs
    }


def _results(
    session: Session, args: argparse.Namespace, source: Path | Mapping[str, Any], drawn: Output | None
) -> dict[str, NDArray[Any]]:
    """Return every output by name: of a full image with ``--whole``, else of inputs of the model's size."""
    if isinstance(source, Path):
        return _run_full_image(session, args, source, drawn)
    if args.check_ranges:
        _warn_of_clipping(session, source)
    return dict(session.run(source))


def _warn_of_clipping(session: Session, inputs: Mapping[str, Any]) -> None:
    """Print a warning if ranges clip values of an input, else a confirmation."""
    from glsl_infer.runtime import saturation

    saturated = session.saturation(inputs)
    text = saturation.sentence(saturated)
    if text:
        say_warning(text)
    else:
        most = f"at most {100.0 * saturated[0].share:.2g} % of a layer's values" if saturated else "none of the values"
        print(f"the ranges cover this input: {most} are at an end of a range", file=sys.stderr)


@contextmanager
def _session(args: argparse.Namespace, bundle: Bundle) -> Iterator[Session]:
    """Yield a session after the driver's self-check."""
    from glsl_infer.runtime.session import Session

    with Session(bundle, context=args.context) as session:
        if not args.no_selfcheck:
            progress.first_use(session)
        yield session


def _run_full_image(
    session: Session, args: argparse.Namespace, path: Path, drawn: Output | None
) -> dict[str, NDArray[Any]]:
    """Return the only output for a full image: bytes if it becomes an image file, else floats."""
    import numpy as np

    from glsl_infer.runtime import images
    from glsl_infer.runtime.pictures import preprocess

    picture = np.asarray(preprocess.open_image(path))
    watch = partial(progress.bar, name="run")
    full_image = images.run_whole(session, picture, overlap=args.overlap, raw=drawn is None, watch=watch)
    return {session.bundle.manifest.output.name: full_image[..., None] if full_image.ndim == 2 else full_image}


def _check_order(args: argparse.Namespace, paths: Sequence[Path]) -> None:
    """Refuse an image in the position of the model."""
    from glsl_infer.bundle import SUFFIX

    models = [path for path in paths if path.suffix.lower() == SUFFIX]
    if models and args.model.suffix.lower() != SUFFIX:
        raise InputError(f"the model comes first: glsl-infer run {models[0]} {args.model}")


def _check_arguments(args: argparse.Namespace, paths: Sequence[Path]) -> None:
    """Refuse arguments that are invalid for every model."""
    from glsl_infer.runtime import images
    from glsl_infer.runtime.pictures.paths import is_image

    if not paths and not args.input:
        if is_image(args.model):
            raise InputError(f"no model; give it before the image: glsl-infer run MODEL.glslnn {args.model}")
        raise InputError("give an IMAGE, or --input NAME=FILE for each input of the model")
    for option, value in (("--out-dir", args.out_dir), ("--csv", args.csv)):
        if value is not None and not paths:
            raise InputError(f"{option} needs images after the model; give MODEL.glslnn IMAGE ...")
    if args.softmax and args.raw:
        raise InputError("--softmax and --raw cannot be used together; leave one out")
    if args.overlap is not None and not args.whole:
        raise InputError("--overlap needs --whole; give both")
    if args.whole and args.check_ranges:
        raise InputError("--check-ranges needs an input of the model's size; leave --whole out")
    if args.whole and not paths:
        raise InputError("--whole needs an image; give MODEL.glslnn IMAGE")
    if args.out is None:
        return
    if args.out.suffix.lower() not in (*ALL_OUTPUTS_SUFFIXES, ARRAY):
        images.format_of(args.out)
    check_output(args.out)


def _check_model(args: argparse.Namespace, bundle: Bundle, *, several: bool) -> Output | None:
    """Refuse arguments that do not match the model's outputs; return the output that becomes an image file.

    Args:
        args: the arguments of the command.
        bundle: the model.
        several: whether the arguments name several images or a folder.
    """
    from glsl_infer.runtime import images
    from glsl_infer.runtime.pictures import tiling

    outputs = bundle.manifest.outputs
    if (args.top is not None or args.softmax or args.raw) and all(output.purpose != "classes" for output in outputs):
        option = "--softmax" if args.softmax else "--raw" if args.raw else "--top"
        raise InputError(f"{option} needs an output for classes, and the model has none; leave it out")
    if args.whole:
        size = bundle.manifest.input.size
        tiling.factor_of(images.output_shape(bundle), size)
        if args.overlap is not None:
            tiling.spans(size, size, args.overlap)
    vectors = [output for output in outputs if len(output.shape) == 1]
    if args.csv is not None and not vectors:
        raise InputError("--csv is for outputs of classes or of a vector, and the model has none; give --out-dir DIR")
    if args.out_dir is not None:
        is_drawable = len(outputs) == 1 and outputs[0].purpose in DRAWABLE and _why_not_drawable(outputs[0]) is None
        return outputs[0] if is_drawable else None
    if args.out is not None:
        return _output_of_file(args.out, outputs)
    maps = [output for output in outputs if len(output.shape) > 1]
    if maps and args.csv is None:
        subject = "an image" if maps[0].purpose == "image" else f"'{maps[0].name}'"
        raise InputError(f"returns {subject} of {sides(maps[0].shape)}; {_where_to(maps, several)}")
    return None


def _output_of_file(out: Path, outputs: Sequence[Output]) -> Output | None:
    """Return the output for an image file of ``-o``, or None for a file of arrays.

    Raises:
        InputError: the file cannot contain the model's outputs.
    """
    suffix = out.suffix.lower()
    if suffix in ALL_OUTPUTS_SUFFIXES:
        return None
    if suffix == ARRAY:
        if len(outputs) > 1:
            raise InputError(f"a *{ARRAY} file has one output, and the model has {len(outputs)}; give -o OUT.npz")
        return None
    candidates = outputs if len(outputs) == 1 else [output for output in outputs if output.purpose in DRAWABLE]
    if len(candidates) != 1:
        count = len(candidates)
        raise InputError(f"an image file has one image or mask, and the model returns {count}; give -o OUT.npz")
    problem = _why_not_drawable(candidates[0])
    if problem is not None:
        raise InputError(f"{problem}; -o OUT{ARRAY} writes its values")
    return candidates[0]


def _why_not_drawable(output: Output) -> InputError | None:
    """Return the reason why an output cannot become an image file; None if it can."""
    from glsl_infer.runtime import images

    if output.purpose == "mask" and len(output.shape) == 2:
        return None
    try:
        images.check_picture(output.shape)
    except InputError as error:
        return error
    return None


def _where_to(maps: list[Output], several: bool) -> str:
    if several:
        return "name a folder for the files: --out-dir DIR"
    suffix = "png" if len(maps) == 1 and maps[0].purpose != "values" else "npz"
    return f"name a file for it, such as -o OUT.{suffix}"
