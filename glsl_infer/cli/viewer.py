"""Display of images with their labels in a window, one after the other: ``classify --window``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from glsl_infer.cli import progress
from glsl_infer.cli.terminal_text import say_error
from glsl_infer.errors import ImageError, InputError
from glsl_infer.runtime.classifier import Classifier, Prediction
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.tools.window.window import PictureWindow

OnPicture = Callable[[Path, Sequence[Prediction]], None]


def run(args: argparse.Namespace, files: list[Path], report: OnPicture) -> int:
    """Show the images until the window is closed or the screenshot is written; return the exit code."""
    if args.screenshot is not None and len(files) > 1:
        raise InputError(f"--screenshot is for one image; {len(files)} were given")
    with (
        PictureWindow() as window,
        Classifier(args.model, context=window.context, threshold=args.threshold) as classifier,
    ):
        if not args.no_selfcheck:
            progress.first_use(classifier.session)
        viewer = Viewer(window, classifier, files, args.top, report, debug=args.debug)
        viewer.step(0)
        if args.screenshot is not None and viewer.files:
            window.save_screenshot(args.screenshot)
            window.quit()
        while window.is_open:
            window.wait()
    return ImageError.exit_code if viewer.failed else 0


class Viewer:
    """Navigation through images in a window.

    Attributes:
        files: the images, without those found to be unreadable.
        index: index of the image shown.
        failed: the number of unreadable images.
    """

    def __init__(
        self,
        window: PictureWindow,
        classifier: Classifier,
        files: list[Path],
        top: int,
        report: OnPicture,
        *,
        debug: bool = False,
    ) -> None:
        self.files, self.index, self.failed = list(files), 0, 0
        self._window, self._classifier, self._top, self._report = window, classifier, top, report
        self._debug = debug
        self._reported: set[Path] = set()
        window.on_key = self.on_key

    def on_key(self, meaning: str) -> None:
        """Handle a key by its meaning."""
        if meaning == "quit":
            self._window.quit()
        elif len(self.files) > 1:
            self.step(1 if meaning == "next" else -1)

    def step(self, by: int) -> None:
        """Show the image ``by`` steps further, cyclically. Unreadable images are skipped."""
        self.index += by
        while self.files:
            self.index %= len(self.files)
            path = self.files[self.index]
            try:
                self._show(path)
            except ImageError as error:
                if self._debug:
                    raise
                say_error(str(error))
                self.failed += 1
                del self.files[self.index]
                if by < 0:
                    self.index -= 1
                continue
            return
        self._window.quit()

    def _show(self, path: Path) -> None:
        picture = preprocess.open_image(path)
        # As an array: a Pillow image would be converted to sRGB again.
        predictions = self._classifier.classify(np.asarray(picture), top=self._top)
        if path not in self._reported:
            self._reported.add(path)
            self._report(path, predictions)
        self._window.show(picture, predictions, f"{path.name} - glsl-infer")
