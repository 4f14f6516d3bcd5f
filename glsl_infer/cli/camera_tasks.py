"""``camera --task``: detection and tracking in every frame, shown in a window, as lines, or in a browser."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glsl_infer.cli import arguments, camera_events, image_tasks
from glsl_infer.errors import InputError
from glsl_infer.support.plain_text import one_line
from glsl_infer.tasks import reading
from glsl_infer.tools.camera.presence import APPEARED, Presence, Reaction

if TYPE_CHECKING:
    from glsl_infer.cli.camera_events import Listener
    from glsl_infer.runtime.session import Session
    from glsl_infer.tasks import Task
    from glsl_infer.tools.camera.frame import Frame
    from glsl_infer.tools.camera.latest import Latest
    from glsl_infer.tools.camera.mjpeg import FrameServer
    from glsl_infer.tools.camera.sources import CameraSource
    from glsl_infer.tools.window.window import PictureWindow

_RATE_OVER = 30
"""Number of frames over which the frame rate is averaged."""

_OPTIONS = ("serve", "points", "background", "on_appear", "snapshot", "appear_after", "leave_after")
APPEAR_AFTER, LEAVE_AFTER = 3, 15


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _add_task(parser)
    _add_events(parser)


def _add_task(parser: argparse.ArgumentParser) -> None:
    tasks = arguments.group(parser, "Faces, hands and people")
    tasks.add_argument(
        "--task",
        metavar="TASK",
        help="Find something instead of classifying: faces, face-mesh, hands, people, selfie, another task, or a file "
        "*.json of your own.",
    )
    # Accepted but not listed: an earlier spelling of --task face-mesh and hands.
    tasks._remove_action(tasks.add_argument("--points", action="store_true"))
    parser.set_defaults(points=False)
    tasks.add_argument(
        "--background",
        metavar="BACKGROUND",
        help="With --task selfie, replace the background in the window or browser: blur, or a colour (white, "
        "'#204080') (default: the background stays, and the person is tinted).",
    )
    tasks.add_argument(
        "--serve",
        type=arguments.number(
            int, "a port from 1 to 65535, or 0 for one that is free", lambda port: 0 <= port <= 65535
        ),
        metavar="PORT",
        help="With --task, show the frames to browsers on this machine, as MJPEG.",
    )


def _add_events(parser: argparse.ArgumentParser) -> None:
    events = arguments.group(parser, "Events")
    events.add_argument(
        "--on-appear",
        metavar="COMMAND",
        help="With --task, start this command when something appears. Meanwhile, the next frames are processed.",
    )
    events.add_argument(
        "--snapshot",
        type=Path,
        metavar="DIR",
        help="With --task, write an image to this folder when something appears.",
    )
    events.add_argument(
        "--appear-after",
        type=arguments.count,
        metavar="FRAMES",
        help=f"A thing or label has appeared after this number of frames in a row with it (default: {APPEAR_AFTER}).",
    )
    events.add_argument(
        "--leave-after",
        type=arguments.count,
        metavar="FRAMES",
        help=f"It has left after this number of frames in a row without it (default: {LEAVE_AFTER}).",
    )


def check(args: argparse.Namespace) -> None:
    """Refuse invalid or incompatible arguments.

    Raises:
        InputError: an argument is invalid or incompatible with another.
    """
    if args.task is None:
        for name in _OPTIONS:
            watched = name in ("appear_after", "leave_after") and (args.on or args.gpio or args.mqtt is not None)
            if getattr(args, name) not in (None, False) and not watched:
                advice = "; with a classifier, give --on LABEL COMMAND" if name == "on_appear" else ""
                raise InputError(f"--{name.replace('_', '-')} needs --task; give both{advice}")
        return
    task_of(args)
    if args.on:
        raise InputError("--on needs a classifier; with --task, give --on-appear")
    if args.background is not None:
        from glsl_infer.tasks.masks import ground

        if not args.window and args.serve is None:
            raise InputError(f"--background {args.background}: needs --window or --serve; give one of them as well")
        if not isinstance(ground(args.background), (tuple, type(None))):
            raise InputError(
                f"--background {args.background}: the background of a camera is blur or a colour; give one of these"
            )


def task_of(args: argparse.Namespace) -> str:
    """Return the task to open. With ``--points`` it is the one for landmarks.

    Raises:
        InputError: the task does not have points.
    """
    task = str(args.task)
    if not args.points:
        return task
    if task not in reading.POINTS and task not in reading.POINTS.values():
        raise InputError(f"--points needs --task {' or '.join(reading.POINTS)}; --task {task} has no other points")
    return reading.POINTS.get(task, task)


def run(
    args: argparse.Namespace, source: CameraSource, window: PictureWindow | None, listeners: Sequence[Listener] = ()
) -> None:
    """Detect, track and show results until the source ends.

    Args:
        args: the checked arguments of the command.
        source: source of the frames.
        window: the window that shows the frames, or None.
        listeners: callbacks for a result that appears or leaves.

    Raises:
        InputError: the task or the port cannot be used.
        RunError: the camera does not deliver further frames.
    """
    from glsl_infer.tasks import open_task
    from glsl_infer.tools.camera.mjpeg import FrameServer

    reaction = Reaction(args.on_appear, args.snapshot)
    presence = Presence(args.appear_after or APPEAR_AFTER, args.leave_after or LEAVE_AFTER)
    with contextlib.ExitStack() as stack:
        context = args.context if window is None else window.context
        task = stack.enter_context(open_task(task_of(args), model=args.model, context=context))
        image_tasks.check(task, args)
        server = None if args.serve is None else stack.enter_context(FrameServer(args.serve))
        if server is not None:
            print(f"to see the frames, open {server.address}", file=sys.stderr, flush=True)
        display = _Display(args, window, server)
        report = _result_writer(args, task)
        copied = args.upload or any(len(session.bundle.parts) > 1 for session in task.sessions)
        frames, latest = stack.enter_context(frames_of(args, source, task.session, copy=copied))
        for number, frame in enumerate(frames, 1):
            dropped = None if latest is None else latest.dropped
            with frame:
                result = task.follow(frame.picture)
                task.session.context.gl.check(f"in frame {frame.index}")  # a lost context returns arbitrary values
                event = presence.update(result.present)
                for listener in listeners if event is not None else ():
                    listener(camera_events.OF_TASK, event == APPEARED)
                snapshot = reaction.appeared(image_of(frame)) if event == APPEARED else None
                rate = report(frame, result, dropped, event, snapshot)
                display.show(frame, result, rate)
            if number == args.frames or (window is not None and not window.is_open):
                break
        if window is not None and args.screenshot is not None:
            window.save_screenshot(args.screenshot)


class _Display:
    """The window and the server that show the frames with their results; either can be None.

    Args:
        args: the arguments of the command.
        window: draws masks itself; other results are drawn into the frame.
        server: shows the frame with its result.
    """

    def __init__(self, args: argparse.Namespace, window: PictureWindow | None, server: FrameServer | None) -> None:
        self._args, self._window, self._server = args, window, server

    def show(self, frame: Frame, result: Any, rate: float) -> None:
        """Show a frame with its result, and the frame rate in the title."""
        from glsl_infer.tasks.masks import Mask

        mask = result if isinstance(result, Mask) else None
        background = self._args.background
        if self._server is not None or (self._window is not None and mask is None):
            if mask is None or background is None:
                image = result.draw(frame.pixels())
            else:
                image = mask.over(frame.pixels(), background)
            if self._server is not None:
                self._server.show(image)
            if self._window is not None and mask is None:
                self._window.show(image, (), title_of(self._args, rate))
        if self._window is not None:
            if mask is not None:
                self._window.show_masked(image_of(frame), mask, _look(background), title_of(self._args, rate))
            self._window.poll()


def _look(background: str | None) -> Any:
    """Return the style in which a window shows a mask."""
    from glsl_infer.tasks.masks import ground

    if background is None:
        return "tint"
    return ground(background) or background


def title_of(args: argparse.Namespace, rate: float) -> str:
    """Return the title of a window."""
    return f"{args.source}, {rate:.1f} frames a second - glsl-infer"


def rate_text(frame: Frame, rate: float) -> str:
    """Return a frame rate as the end of a line; empty for the first frame and for the image files of a folder.

    The results of a few image files arrive almost at the same time, so their rate would be far too high.
    """
    return f" ({rate:.1f} frames a second)" if rate and frame.name is None else ""


class FrameClock:
    """Times at which the results of frames are ready, in seconds from the construction."""

    def __init__(self) -> None:
        self._started, self._times = time.monotonic(), deque[float](maxlen=_RATE_OVER)

    def tick(self) -> float:
        """Add a frame, and return the frame rate: frames a second, 0 for the first frame."""
        self._times.append(time.monotonic())
        seconds = self._times[-1] - self._times[0]
        return (len(self._times) - 1) / seconds if seconds > 0.0 else 0.0

    def described(self, frame: Frame, rate: float, dropped: int | None) -> dict[str, Any]:
        """Return the beginning of the JSON line of the last frame; ``dropped`` is None except for a camera."""
        return {
            "frame": frame.index,
            **({} if frame.name is None else {"file": frame.name}),
            "seconds": round(self._times[-1] - self._started, 3),
            "fps": round(rate, 2),
            **({} if dropped is None else {"dropped": dropped}),
        }


def _result_writer(args: argparse.Namespace, task: Task[Any]) -> Callable[..., float]:
    """Return a function that prints a line for each frame, unless a window shows them, and returns the frame rate."""
    clock = FrameClock()

    def show(frame: Frame, result: Any, dropped: int | None, event: str | None, snapshot: Any) -> float:
        rate = clock.tick()
        if args.json:
            line = {
                **clock.described(frame, rate, dropped),
                **({} if event is None else {"event": event}),
                **({} if snapshot is None else {"snapshot": str(snapshot)}),
                **result.as_json(),
            }
            print(json.dumps(line), flush=True)
        elif not args.window:
            summary = "something" if result.present else "nothing"
            if result.present and hasattr(result, "share"):  # a mask
                summary = f"{100 * result.share:.0f} % of the image"
            if isinstance(getattr(result, "items", None), tuple):
                summary = f"{len(result)} found"
            note = "" if event is None else f"; {event}" + ("" if snapshot is None else f", {snapshot}")
            name = frame.name or f"frame {frame.index}"
            print(one_line(f"{name}: {task.description.name}: {summary}{rate_text(frame, rate)}{note}"), flush=True)
        return rate

    return show


@contextlib.contextmanager
def frames_of(
    args: argparse.Namespace, source: CameraSource, session: Session, *, copy: bool
) -> Iterator[tuple[Iterable[Frame], Latest | None]]:
    """Yield the frames: all of a film or folder, only the newest of a camera (``Latest``). Close them at the end.

    Args:
        args: the arguments of the command.
        source: source of the frames.
        session: session that reads the frames.
        copy: copy every frame, even if the GPU could read the camera's memory.
    """
    from glsl_infer.tools.camera.importing import frames_for
    from glsl_infer.tools.camera.latest import Latest
    from glsl_infer.tools.camera.sources import every

    frames = every(frames_for(session, source, copy=copy), args.every)
    with contextlib.ExitStack() as stack:
        latest = stack.enter_context(Latest(frames)) if source.live else None
        if latest is None:
            stack.callback(getattr(frames, "close", lambda: None))
        yield frames if latest is None else latest, latest


def image_of(frame: Frame) -> Any:
    """Return a frame as an image of Pillow."""
    from PIL import Image

    return Image.fromarray(frame.pixels())
