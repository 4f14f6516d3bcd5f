"""Take photographs for glsl-infer train, with a key for each class, from a camera, a film or a folder."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from glsl_infer.cli import arguments
from glsl_infer.cli.terminal_text import print_result, say_warning
from glsl_infer.errors import InputError, MissingExtraError
from glsl_infer.support.files import cannot_be_written, output
from glsl_infer.support.plain_text import one_line

if TYPE_CHECKING:
    from glsl_infer.tools.camera.frame import Frame
    from glsl_infer.tools.camera.sources import CameraSource

CAMERA = "/dev/video0"
KEYS = "123456789abcdefghijklmnoprstuvwxyz"
QUIT, SKIP = "q\x1b\x03\x04", " \r\n"


EXAMPLES = (
    "glsl-infer collect --classes cat,dog,none -o photos",
    "glsl-infer collect --classes cat,dog --source film.mp4 --every 15 -o photos",
    "glsl-infer collect --classes cat,dog --source unsorted/ -o photos",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    output = parser.add_mutually_exclusive_group()
    output.add_argument(
        "--camera",
        action="store_true",
        help=f"Use the Raspberry Pi's camera if python3-picamera2 is installed, else {CAMERA} (the default).",
    )
    output.add_argument(
        "--source",
        metavar="SOURCE",
        help="Read from /dev/videoN, picamera2, a film, or a folder of images. Each image of a folder waits for a key.",
    )
    arguments.accept(parser, "--source", "--images")
    parser.add_argument(
        "--every",
        type=arguments.count,
        default=1,
        metavar="N",
        help="Wait for a key only at every Nth frame of a film (default: 1).",
    )
    parser.add_argument(
        "--classes",
        required=True,
        metavar="LABEL,...",
        help="The labels, separated by commas. Use 'none' for photographs that should be answered 'none of these'.",
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="The folder of the class folders, which are created if they are missing.",
    )
    arguments.add_json(parser, "Print the number of photographs of each class as JSON.")


def run(args: argparse.Namespace) -> int:
    """Take photographs until q is pressed, or the keys or the source end."""
    from glsl_infer.tools.camera.latest import Latest
    from glsl_infer.tools.camera.sources import every
    from glsl_infer.tools.camera.stop_signals import until_signalled

    labels = _labels(args.classes)
    source = _source(args.source)
    folders = {label: args.out / label for label in labels}
    for folder in folders.values():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_be_written(folder, error) from None
    counts = dict.fromkeys(labels, 0)
    keys = ", ".join(f"{key} for {label}" for key, label in zip(KEYS, labels))
    with until_signalled(), contextlib.ExitStack() as stack:
        key = stack.enter_context(_keys())
        # Only after the terminal delivers single keys, so that a key pressed at the sight of this line counts.
        print(one_line(f"press {keys}; space skips the frame, q ends"), file=sys.stderr, flush=True)
        frames: Iterator[Frame]
        if source.live:
            frames = iter(stack.enter_context(Latest(source.frames)))
        else:
            frames = every(source.frames, args.every)
            stack.callback(getattr(frames, "close", lambda: None))
        _take(frames, source.live, key, labels, folders, counts)
    print_result(args, counts, [f"{count:5} {folders[label]}" for label, count in counts.items()])
    return 0


def _source(name: str | None) -> CameraSource:
    """Return the given source, else the available camera: a Pi's camera does not deliver images by ``/dev/video0``."""
    from glsl_infer.tools.camera import sources

    if name is not None:
        return sources.open_source(name)
    try:
        return sources.open_source(sources.PICAMERA2)
    except MissingExtraError:
        return sources.open_source(CAMERA)


def _take(
    frames: Iterator[Frame],
    live: bool,
    key: Callable[[], str],
    labels: list[str],
    folders: dict[str, Path],
    counts: dict[str, int],
) -> None:
    """Write a frame for each key of a class: the newest frame of a camera, or the next of another source."""
    pressed = key() if live else ""
    for frame in frames:
        with frame:
            if not live:
                position = frame.position if frame.name is None else f"{frame.position}, {frame.name}"
                print(one_line(position), file=sys.stderr, flush=True)
                pressed = key()
                while pressed and pressed not in QUIT + SKIP and pressed not in KEYS[: len(labels)]:
                    pressed = key()
            if not pressed or pressed in QUIT:
                return
            if pressed in KEYS[: len(labels)]:
                label = labels[KEYS.index(pressed)]
                _write(frame, folders[label])
                counts[label] += 1
                print(one_line(f"{label}: {counts[label]}"), file=sys.stderr, flush=True)
        if live:
            pressed = key()


def _labels(text: str) -> list[str]:
    labels = [label.strip() for label in text.split(",")]
    wrong = [label for label in labels if not label or label.startswith(".") or set(label) & set('/\\:*?"<>|')]
    if wrong or len(set(labels)) != len(labels) or len(labels) > len(KEYS):
        raise InputError(
            f"--classes {text}; give 1 to {len(KEYS)} different names that can be folders, like cat,dog,none"
        )
    words = re.split(r"[\s;]+", labels[0])
    if len(labels) == 1 and len(words) > 1:
        say_warning(f"--classes '{labels[0]}' is one class; for {len(words)} classes, give {','.join(words)}")
    return labels


def _write(frame: Frame, folder: Path) -> None:
    from PIL import Image

    path = folder / f"{datetime.now():%Y-%m-%d_%H-%M-%S-%f}.jpg"
    with output(path) as file:
        Image.fromarray(frame.pixels()).convert("RGB").save(file, "JPEG", quality=92)


@contextlib.contextmanager
def _keys() -> Iterator[Callable[[], str]]:
    """Yield a function that waits for a key on a terminal, or reads the next character; it returns '' at the end."""
    if not sys.stdin.isatty():
        yield lambda: sys.stdin.read(1)
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSADRAIN)  # keeps earlier input
        yield lambda: sys.stdin.read(1)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
