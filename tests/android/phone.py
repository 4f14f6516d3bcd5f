"""A phone without Android: the app of an APK on fake ``android.*`` classes, controlled by lines of text."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.runtime.pictures import preprocess

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "models" / "grocery-x22-257.glslnn"
"""The model in the app under test, also the one in the app of `make apk` (test_apk.py)."""

SMALL = ROOT / "models" / "trashnet-x22-129.glslnn"
"""A classifier for tests of any model."""

IMAGES = ROOT / "docs" / "images"
Pixels = NDArray[np.uint8]

PORTRAIT, LANDSCAPE = (270, 480), (480, 270)
CAMERA_SIZES = ((1280, 720), (640, 480), (320, 240))
CAMERA = (640, 480)
"""The app's choice of camera size: the smallest one good enough for a screen."""


def scene(name: str, width: int = 480, height: int = 640) -> Pixels:
    """Return a camera scene: a photograph of docs/images in the network's square, mirrored beyond its edges."""
    side = min(width, height)
    square = preprocess.to_square(preprocess.open_image(IMAGES / name), side)
    above, before = (height - side) // 2, (width - side) // 2
    around = ((above, height - side - above), (before, width - side - before), (0, 0))
    return np.pad(square, around, "reflect")


class Phone:
    """One start of the app's process. A ``scene`` is the upright image in front of the camera, as the user sees it."""

    def __init__(
        self, command: Sequence[str], apk: Path, folder: Path, *, screen: tuple[int, int] = PORTRAIT, points: int = 360
    ) -> None:
        """Start the process.

        Args:
            command: command that starts the app (``command_of_app``).
            apk: the app.
            folder: folder for images that are sent and received.
            screen: width and height of the screen in pixels.
            points: density-independent pixels on the short side: 360 for a phone, 600 and more for a tablet.
        """
        self.folder, self.screen, self.rotation = folder, screen, 0
        self._density = min(screen) / points
        self._process = subprocess.Popen(
            [*command, str(apk), str(screen[0]), str(screen[1]), str(self._density)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self.command("sizes", *(side for size in CAMERA_SIZES for side in size))

    def command(self, *words: object) -> Any:
        """Send a command to glslinfer.fake.Phone and return its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join(str(word) for word in words) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the app's process has ended"
        answer = json.loads(line)
        assert not isinstance(answer, str), answer
        return answer

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=60)

    def start(self, *extras: object) -> Any:
        """Start the app with the camera permitted, and wait until its model is ready."""
        self.command("grant")
        self.command("start", *extras)
        return self.ready()

    def ready(self) -> Any:
        """Handle all pending events until the model is read and compiled."""
        for _ in range(2000):
            state = self.command("idle")
            if not any(text.startswith("Reading the model") for text in state["texts"]):
                return state
        raise AssertionError("the model never gets ready")

    def photograph(self, path: Path) -> Any:
        """Choose a photograph, and wait until it is classified."""
        self.command("press", "Photo")
        self.command("file", path)
        self.command("wait", "Camera")
        return self.command("idle")

    def rotate(self, rotation: int) -> Any:
        """Rotate the screen; ``rotation`` is the value of Display.getRotation."""
        self.rotation = rotation
        upright = self.screen if rotation % 2 == 0 else self.screen[::-1]
        self.command("rotate", rotation, *upright)
        return self.command("idle")

    def look(self, scene: Pixels, *, front: bool = False) -> Any:
        """Send an image of ``scene`` from the camera; return the screen's state after the app processed it."""
        buffer, matrix = sent(scene, self.rotation, front=front)
        assert (buffer.shape[1], buffer.shape[0]) == CAMERA
        path = self.folder / "camera.rgba"
        alpha = np.full((*buffer.shape[:2], 1), 255, np.uint8)
        path.write_bytes(np.concatenate([buffer, alpha], 2).tobytes())
        if not self.command("picture", path, *CAMERA, *matrix):
            return None
        return self.command("idle")

    def input(self, height: int, width: int) -> Pixels:
        """Return the network's last input image, uint8 (height, width, 4)."""
        path = self.folder / "input.rgba"
        self.command("input", path)
        return np.frombuffer(path.read_bytes(), np.uint8).reshape(height, width, 4)

    def shot(self) -> Pixels:
        """Return the screen, uint8 (height, width, 3)."""
        path = self.folder / "screen.rgba"
        self.command("screen", path)
        width, height = self.screen if self.rotation % 2 == 0 else self.screen[::-1]
        return np.frombuffer(path.read_bytes(), np.uint8).reshape(height, width, 4)[..., :3]


def sent(scene: Pixels, rotation: int, *, front: bool) -> tuple[Pixels, list[float]]:
    """Return the camera's buffer for a scene, and the matrix of its SurfaceTexture.

    The definitions are those of Android's documentation. With ``rotation`` 1 the phone was turned counter-clockwise, so
    in its natural orientation the scene appears turned clockwise. A sensor's image becomes upright when it is turned
    clockwise by SENSOR_ORIENTATION (90 at the back, 270 at the front). The image of a front camera is then mirrored.
    """
    natural = np.rot90(np.fliplr(scene) if front else scene, -rotation)
    unmirrored = np.fliplr(natural) if front else natural
    buffer = np.rot90(unmirrored, 3 if front else 1)
    height, width = natural.shape[:2]

    def buffer_position(s: float, t: float) -> tuple[float, float]:
        """Return the buffer position (from its first row) of a point of the natural image (from the lower left)."""
        x, y = s * width, (1 - t) * height
        if front:
            x = width - x
            x, y = height - y, x  # np.rot90(..., 3): turned clockwise
        else:
            x, y = y, width - x
        return x / buffer.shape[1], y / buffer.shape[0]

    origin, right, up = buffer_position(0, 0), buffer_position(1, 0), buffer_position(0, 1)
    columns = [[right[0] - origin[0], right[1] - origin[1], 0, 0], [up[0] - origin[0], up[1] - origin[1], 0, 0]]
    columns += [[0, 0, 1, 0], [*origin, 0, 1]]
    return np.ascontiguousarray(buffer), [float(number) for column in columns for number in column]


def labels(state: Any) -> list[tuple[str, float]]:
    """Return the labels on the screen with their percentages, in the order in which they are drawn."""
    texts = state["texts"]
    return [
        (label, float(percent.removesuffix(" %"))) for percent, label in zip(texts, texts[1:]) if percent.endswith(" %")
    ]


def size_of(state: Any, text: str) -> float:
    """Return the font size of a text on the screen, in pixels."""
    return float(state["sizes"][state["texts"].index(text)])
