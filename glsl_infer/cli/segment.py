"""Cut people out of images, or replace the background."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from glsl_infer.cli import image_tasks
from glsl_infer.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from PIL import Image

    from glsl_infer.tasks import Mask

TASKS = ("selfie", "selfie-landscape")
_ALPHA = (".png", ".webp", ".tif", ".tiff")


EXAMPLES = (
    "glsl-infer segment photo.jpg -o person.png",
    "glsl-infer segment photo.jpg --background beach.jpg -o beach-photo.jpg",
    "glsl-infer segment photos/ --out-dir people/",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    image_tasks.add_arguments(
        parser,
        TASKS,
        "the person, with the rest transparent or the background",
        "a row for each image (file, score, share of the image)",
    )
    parser.add_argument(
        "--background",
        metavar="BACKGROUND",
        help="The new background: blur, a colour (white, '#204080') or an image file (default: transparent).",
    )


def run(args: argparse.Namespace) -> int:
    """Segment, print and cut out."""
    from glsl_infer.tasks import Segmenter
    from glsl_infer.tasks.masks import ground

    if args.background is not None:
        if args.out is None and args.out_dir is None:
            raise InputError(
                f"--background {args.background}: needs -o FILE or --out-dir DIR; give one of them as well"
            )
        ground(args.background)
    elif args.out is not None and args.out.suffix.lower() not in _ALPHA:
        raise InputError(f"{args.out}: this format has no transparency; name the file *.png, or give --background")

    def drawn(mask: Mask, path: Path) -> Image.Image:
        return mask.cut_out(path) if args.background is None else mask.over(path, args.background)

    suffix = ".png" if args.background is None else ""
    return image_tasks.run(args, Segmenter, args.task, image_tasks.Show(_words, drawn, _head, _rows, suffix))


def _words(mask: Mask) -> str:
    return f"the mask covers {100 * mask.share:.1f} % of the image, score {100 * mask.score:.0f} %"


def _head(_: object) -> list[str]:
    return ["score", "share"]


def _rows(mask: Mask) -> list[list[object]]:
    return [[f"{mask.score:.4f}", f"{mask.share:.4f}"]]
