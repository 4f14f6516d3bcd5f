"""Classify the frames of a camera, film or folder, or find faces, hands and people in them."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from glsl_infer.cli import arguments, camera_events, camera_labels, camera_tasks, execution, progress
from glsl_infer.support.plain_text import one_line

if TYPE_CHECKING:
    from glsl_infer.cli.camera_events import Listener
    from glsl_infer.runtime.classifier import Classifier, Prediction
    from glsl_infer.runtime.pictures.picture_input import Picture
    from glsl_infer.tools.camera.frame import Frame
    from glsl_infer.tools.camera.latest import Latest
    from glsl_infer.tools.camera.sources import CameraSource
    from glsl_infer.tools.window.window import PictureWindow

OnFrame = Callable[["Frame", "list[Prediction]"], None]


EXAMPLES = (
    "glsl-infer camera --window",
    "glsl-infer camera model.glslnn --source film.mp4 --json",
    "glsl-infer camera --task faces --serve 8080",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.add_model(parser)
    parser.add_argument(
        "--source",
        default="/dev/video0",
        metavar="SOURCE",
        help="The camera or files to read: /dev/videoN, picamera2, a film, a folder of images (default: /dev/video0).",
    )
    arguments.accept(parser, "--source", "--images")
    parser.add_argument(
        "--every", type=arguments.count, default=1, metavar="N", help="Process only one of N frames (default: 1)."
    )
    parser.add_argument(
        "--frames", type=arguments.count, metavar="N", help="Stop after N frames (default: at the end of the source)."
    )
    labels = arguments.group(parser, "Labels")
    labels.add_argument(
        "--top", type=arguments.count, default=1, metavar="N", help="The number of labels per frame (default: 1)."
    )
    execution.add_threshold(parser)
    camera_tasks.add_arguments(parser)
    camera_labels.add_arguments(parser)
    camera_events.add_arguments(parser)
    display = arguments.group(parser, "Output").add_mutually_exclusive_group()
    display.add_argument("--headless", action="store_true", help="Print lines and open no window (the default).")
    display.add_argument(
        "--window", action="store_true", help="Show the frames, the results and the frame rate. The key q ends it."
    )
    output = arguments.group(parser, "Output")
    output.add_argument(
        "--screenshot", type=Path, metavar="FILE.png", help="With --window, write the last frame that was shown."
    )
    arguments.add_context(parser)
    execution.add_selfcheck(parser)
    execution.add_signature(parser)
    arguments.group(parser, arguments.ADVANCED).add_argument(
        "--upload",
        action="store_true",
        help="Copy every frame to the GPU, even if the GPU could read the camera's memory (dma-bufs).",
    )
    arguments.add_json(parser, "Print a JSON object for each frame, one per line.")


def run(args: argparse.Namespace) -> int:
    """Run until the source ends, the window is closed or a signal arrives. All of these are a success."""
    from glsl_infer.tools.camera import sources
    from glsl_infer.tools.camera.stop_signals import until_signalled

    execution.check_signature(args)
    execution.check_window(args)
    camera_tasks.check(args)
    camera_events.check(args)
    source = sources.open_source(args.source)
    with until_signalled(), contextlib.ExitStack() as stack:
        window = None
        if args.window:
            from glsl_infer.tools.window.window import PictureWindow

            window = stack.enter_context(PictureWindow())
            window.on_key = lambda meaning: window.quit() if meaning == "quit" else None
        if args.task is None:
            _run_classifier(args, source, window, stack)
        else:
            camera_tasks.run(args, source, window, camera_events.opened(args, stack))
    return 0


def _run_classifier(
    args: argparse.Namespace, source: CameraSource, window: PictureWindow | None, stack: contextlib.ExitStack
) -> None:
    """Show the labels of every frame in a window, or print them. ``stack`` closes the listeners."""
    from glsl_infer.runtime.classifier import Classifier

    clock = camera_tasks.FrameClock()
    context = args.context if window is None else window.context
    copy = args.upload or window is not None  # the window shows frames from CPU memory
    with (
        Classifier(args.model, context=context, threshold=args.threshold) as classifier,
        camera_tasks.frames_of(args, source, classifier.session, copy=copy) as (frames, latest),
    ):
        camera_labels.require_labels(
            classifier.labels,
            None if args.model is None else str(args.model),
            [label for label, _ in args.on],
            camera_events.pins_of(args),
        )
        listeners = camera_events.opened(args, stack)

        report = _reporter(args, window, clock, latest)
        _classify(args, classifier, _while_open(frames, window), report, listeners)
        if window is not None and args.screenshot is not None:
            window.save_screenshot(args.screenshot)


def _reporter(
    args: argparse.Namespace, window: PictureWindow | None, clock: camera_tasks.FrameClock, latest: Latest | None
) -> OnFrame:
    """Return the function that shows a frame with its predictions, or prints a line."""

    def report(frame: Frame, predictions: list[Prediction]) -> None:
        rate = clock.tick()
        if window is not None:
            window.show(camera_tasks.image_of(frame), predictions, camera_tasks.title_of(args, rate))
            window.poll()
        elif args.json:
            line = clock.described(frame, rate, None if latest is None else latest.dropped)
            line["predictions"] = [asdict(prediction) for prediction in predictions]
            print(json.dumps(line), flush=True)
        else:
            title = frame.name or f"frame {frame.index}"
            labels = ", ".join(f"{100 * prediction.probability:.2f} % {prediction.label}" for prediction in predictions)
            print(one_line(f"{title}: {labels}{camera_tasks.rate_text(frame, rate)}"), flush=True)

    return report


def _while_open(frames: Iterable[Frame], window: PictureWindow | None) -> Iterator[Frame]:
    """Yield frames until the user closes the window."""
    for frame in frames:
        if window is not None and not window.is_open:
            frame.close()
            return
        yield frame


def _classify(
    args: argparse.Namespace,
    classifier: Classifier,
    frames: Iterable[Frame],
    report: OnFrame,
    listeners: Sequence[Listener],
) -> None:
    """Report every frame, while the GPU computes the next."""
    watches = camera_labels.Watches(
        args.on,
        classifier.labels,
        args.appear_after or camera_tasks.APPEAR_AFTER,
        args.leave_after or camera_tasks.LEAVE_AFTER,
        switched=tuple(camera_events.pins_of(args)),
        listeners=listeners,
        every=args.mqtt is not None,
    )
    if not args.no_selfcheck:
        progress.first_use(classifier.session)
    in_flight: deque[Frame] = deque()

    def pictures() -> Iterator[Picture]:
        for count, frame in enumerate(frames, 1):
            in_flight.append(frame)
            yield frame.picture
            if count == args.frames:
                return

    try:
        for output in classifier.stream(pictures()):
            frame = in_flight[0]
            classifier.session.context.gl.check(f"in frame {frame.index}")  # a lost context returns arbitrary values
            predictions = classifier.rank(output, args.top)
            watches.saw(predictions)
            report(frame, predictions)
            in_flight.popleft().close()
    finally:
        for frame in in_flight:
            frame.close()
