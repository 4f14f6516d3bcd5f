"""Run any model on a picture: an image becomes a picture file, a vector numbers."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glsl_infer.cli import progress
from glsl_infer.errors import InputError
from glsl_infer.gl.context import CHOICES
from glsl_infer.support.files import output_file
from glsl_infer.support.plain_text import one_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from glsl_infer.bundle import Bundle

ARRAY = ".npy"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    from glsl_infer.runtime.images import OVERLAP

    parser.add_argument("model", type=Path, metavar="MODEL.glslnn", help="an exported model")
    parser.add_argument("picture", type=Path, metavar="PICTURE", help="a picture file")
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="FILE",
        help="the file to write: *.png or what else Pillow writes for an image of 1 or 3 channels; *.npy for the "
        "output's numbers as a NumPy array, whatever its shape",
    )
    parser.add_argument(
        "--whole",
        action="store_true",
        help="keep the picture's own pixels and size: run the model on overlapping tiles and put its images together "
        "(otherwise it gets the centred square, scaled to its size)",
    )
    parser.add_argument(
        "--overlap",
        type=int,
        metavar="N",
        help=f"with --whole: pixels that a tile sees beyond what is kept of it (default: {OVERLAP}); no seams show "
        "where the network looks no further",
    )
    parser.add_argument("--context", choices=CHOICES, default="auto", help="how to get at the GPU (default: auto)")
    parser.add_argument(
        "--json", action="store_true", help="print JSON: file, shape of the output; of a vector values and labels"
    )


def run(args: argparse.Namespace) -> int:
    """Run the model, then write or print what comes out. Whatever was given is looked at before a context is made."""
    from glsl_infer import bundle as bundles

    _check_arguments(args)
    bundle = bundles.read(args.model)
    _check_model(args, bundle)
    output = _output(args, bundle)
    if args.out is not None:
        _save(output, args.out)
    _report(args, bundle, output)
    return 0


def _output(args: argparse.Namespace, bundle: Bundle) -> NDArray[Any]:
    """Return what is written or printed: bytes for a picture file, else the numbers that the model makes."""
    import numpy as np

    from glsl_infer.runtime import images
    from glsl_infer.runtime.pictures import preprocess
    from glsl_infer.runtime.session import Session

    raw = args.out is None or args.out.suffix.lower() == ARRAY
    if args.whole:
        whole = np.asarray(preprocess.open_image(args.picture))
        with Session(bundle, context=args.context) as session:
            return images.run_whole(session, whole, overlap=_overlap(args), raw=raw, watch=progress.bar)
    pixels = preprocess.load(args.picture, bundle.manifest.input.size)
    with Session(bundle, context=args.context) as session:
        numbers = session.run(pixels)
    return numbers if raw else images.to_picture(numbers, bundle)


def _check_arguments(args: argparse.Namespace) -> None:
    """Refuse arguments that no model makes sense of."""
    from glsl_infer.runtime import images

    if args.overlap is not None and not args.whole:
        raise InputError("--overlap is about tiles; give --whole as well")
    if args.out is None:
        return
    if args.out.suffix.lower() != ARRAY:
        images.format_of(args.out)
    if not args.out.parent.is_dir():
        raise InputError(f"{args.out.parent}: no such folder")
    output_file(args.out)


def _check_model(args: argparse.Namespace, bundle: Bundle) -> None:
    """Refuse arguments that do not go with what the model makes."""
    from glsl_infer.runtime import images
    from glsl_infer.runtime.pictures import tiling

    shape = images.output_shape(bundle)
    try:
        if args.whole:
            size = bundle.manifest.input.size
            tiling.factor_of(shape, size)
            tiling.spans(size, size, _overlap(args))
    except InputError as error:
        raise InputError(f"{args.model}: {error}") from None
    if args.out is None:
        if len(shape) > 1:
            sides = "x".join(map(str, shape))
            raise InputError(f"{args.model} makes an image of {sides}; say with -o where to, such as -o OUT.png")
        return
    if args.out.suffix.lower() != ARRAY:
        try:
            images.check_picture(shape, bundle)
        except InputError as error:
            raise InputError(f"{args.model}: {error}; -o OUT{ARRAY} writes its numbers") from None


def _overlap(args: argparse.Namespace) -> int:
    from glsl_infer.runtime import images

    return images.OVERLAP if args.overlap is None else int(args.overlap)


def _save(output: NDArray[Any], path: Path) -> None:
    import numpy as np

    from glsl_infer.runtime import images
    from glsl_infer.support.files import cannot_be_written, writing

    if path.suffix.lower() != ARRAY:
        images.save(output, path)
        return
    try:
        with writing(path) as file:
            np.save(file, output)
    except (OSError, ValueError) as error:
        raise cannot_be_written(path, error) from None


def _report(args: argparse.Namespace, bundle: Bundle, output: NDArray[Any]) -> None:
    """Print what came out; a grey picture has one channel as the model's image has."""
    vector, labels = output.ndim == 1, bundle.labels
    shape = [*output.shape, 1] if output.ndim == 2 else list(output.shape)
    if args.json:
        found: dict[str, Any] = {"file": str(args.picture), "output": shape}
        if args.out is not None:
            found["written"] = str(args.out)
        if vector:
            found |= {"values": [float(value) for value in output], "labels": list(labels)}
        print(json.dumps(found, indent=1))
    elif args.out is not None:
        print(f"{args.out}: {'x'.join(map(str, shape))}")
    else:
        for index, value in enumerate(output):
            print(one_line(f"{labels[index]}: {value:.6g}") if labels else f"{value:.6g}")
