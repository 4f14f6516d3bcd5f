"""Argument declarations shared by the commands: groups of options, and older spellings that help does not list."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from glsl_infer.errors import InputError
from glsl_infer.gl import CHOICES

GPU, ADVANCED = "GPU", "Advanced"
"""Titles of groups with options of several modules."""

SHARE = "0..1"
"""Metavar of options for a share or a probability."""

Number = TypeVar("Number", int, float)


def number(kind: type[Number], allowed: str, is_allowed: Callable[[Number], bool]) -> Callable[[str], Number]:
    """Return the argparse type of an option with a number.

    Args:
        kind: int or float.
        allowed: the allowed numbers, as in "1 or more": the end of the message for others.
        is_allowed: returns whether a number is allowed.
    """

    def convert(text: str) -> Number:
        try:
            value = kind(text)
        except ValueError:
            expected = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"'{text}' is not {expected}") from None
        if not is_allowed(value):
            raise argparse.ArgumentTypeError(f"{text}; give {allowed}")
        return value

    return convert


count = number(int, "1 or more", lambda value: value >= 1)
"""Type of options that count something."""

minutes = number(float, "more than 0, and 1440 (a day) at most", lambda value: 0.0 < value <= 1440.0)
"""Type of options for the length of a measurement."""


def group(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """Return the group of options with a title. The group is added if the parser lacks it."""
    for existing in parser._action_groups:
        if existing.title == title:
            return existing
    return parser.add_argument_group(title)


def accept(parser: argparse.ArgumentParser, option: str, *spellings: str) -> None:
    """Accept other spellings of an option, without listing them in the help or in suggestions."""
    action = parser._option_string_actions[option]
    for spelling in spellings:
        parser._option_string_actions[spelling] = action


def add_context(parser: argparse.ArgumentParser) -> None:
    """Declare ``--context``."""
    group(parser, GPU).add_argument(
        "--context",
        choices=CHOICES,
        default="auto",
        help="The way to create the OpenGL ES context (default: auto, the first working way).",
    )


def add_json(parser: argparse.ArgumentParser, content: str) -> None:
    """Declare ``--json``.

    Args:
        parser: the parser of the command.
        content: the sentence about the printed JSON.
    """
    parser.add_argument("--json", action="store_true", help=content)


def add_model(parser: argparse.ArgumentParser, default: str = "the model that comes with the package") -> None:
    """Declare the model of a command whose other positional arguments are images."""
    parser.add_argument(
        "--model",
        type=Path,
        metavar="MODEL.glslnn",
        help=f"The exported model, or the name of one that glsl-infer get has fetched (default: {default}). The option "
        "name can be omitted if the model is the first argument.",
    )


def add_only_model(parser: argparse.ArgumentParser) -> None:
    """Declare the optional model of a command without other positional arguments."""
    parser.add_argument(
        "model",
        type=Path,
        nargs="?",
        metavar="MODEL.glslnn",
        help="The exported model, or the name of one that glsl-infer get has fetched (default: the model that comes "
        "with the package).",
    )


def add_images(parser: argparse.ArgumentParser) -> None:
    """Declare positional images, also accepted as ``--images``; ``images_of`` returns them."""
    parser.add_argument("images", nargs="*", type=Path, metavar="IMAGE", help="Image files, or folders with images.")
    parser.add_argument(
        "--images",
        dest="more_images",
        nargs="+",
        action="extend",
        default=[],
        type=Path,
        metavar="IMAGE",
        help="The same as IMAGE, as an option.",
    )


_MODELS = (".keras", ".h5", ".hdf5", ".onnx", ".tflite")
"""File name extensions of models to export, which users give in place of the exported model."""


def images_of(args: argparse.Namespace) -> list[Path]:
    """Return the images of ``add_images``.

    Raises:
        InputError: the list of images is empty, or contains a model that is not exported.
    """
    images: list[Path] = [*args.images, *args.more_images]
    if not images:
        raise InputError("no image; give image files or a folder after the command")
    for path in images:
        if path.suffix.lower() in _MODELS:
            exported = path.with_suffix(".glslnn").name
            raise InputError(f"{path}: a model, not an image; convert it first: glsl-infer export {path} -o {exported}")
    return images
