"""glsl-infer camera with picamera2: dma-bufs if the driver reads them correctly, else copies.

picamera2 is a fake. If the driver cannot import dma-bufs, EGLImages of textures with the same bytes replace them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from command_line import Capture
from fake_picamera import Picamera, contents
from test_dma_import import image_of, image_refusal
from tiny import write_tiny

from glsl_infer.cli import main
from glsl_infer.errors import ImageError
from glsl_infer.gl import dma_import, egl_image
from glsl_infer.gl.api import gles2
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects

BRIGHT = [np.full((480, 640, 3), value, np.uint8) for value in (20, 90, 230)]
PICTURES = [
    np.clip(picture + np.random.default_rng(0).normal(0, 12, picture.shape), 0, 255).astype(np.uint8)
    for picture in BRIGHT
]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_tiny(tmp_path)


@pytest.fixture
def picamera2(monkeypatch: pytest.MonkeyPatch) -> Iterator[Picamera]:
    library = Picamera(PICTURES)
    monkeypatch.setitem(sys.modules, "picamera2", library)
    yield library
    try:
        assert library.cameras and library.over(), "every camera closed, every request released once"
    finally:
        library.close()


class CameraDriver:
    """A fake import of dma-bufs: an EGLImage of a texture with the buffer's bytes."""

    def __init__(self) -> None:
        self.imports, self.alive = 0, 0
        self.refuses = self.garbles = False

    def __call__(self, target: int, buffer: int | None, attributes: list[int]) -> egl_image.EglImage:
        if self.refuses:
            raise ImageError("EGL_BAD_ATTRIBUTE")
        values = dict(zip(attributes[::2], attributes[1::2]))
        width, height = values[0x3057], values[0x3056]
        texels = contents(values[0x3272], values[0x3273], values[0x3274], width, height)
        if self.garbles:
            texels = texels[..., ::-1]
        objects = Objects(gles2())
        image = image_of(objects.texture(width, height, texels.tobytes()))
        close, self.imports, self.alive = image.close, self.imports + 1, self.alive + 1

        def closed() -> None:
            if image.handle:
                self.alive -= 1
                close()
                objects.close()

        image.close = closed  # type: ignore[method-assign]
        return image


@pytest.fixture
def driver(context: Context, monkeypatch: pytest.MonkeyPatch) -> CameraDriver:
    """Replace EGL's import of camera frames by ``CameraDriver``."""
    why = image_refusal(context)
    if why is not None:
        pytest.skip(why)
    driver = CameraDriver()
    monkeypatch.setattr(dma_import, "EglImage", driver)
    monkeypatch.setattr(dma_import, "refusal", lambda context: None)
    monkeypatch.setattr(dma_import, "MODIFIERS_EXTENSION", "no extension")
    return driver


def camera(model: Path, *more: str) -> int:
    return main(["camera", "--source", "picamera2", "--model", str(model), "--json", "--top", "3", *more])


def configured_formats(picamera2: Picamera) -> list[str]:
    return [camera.camera_configuration()["main"]["format"] for camera in picamera2.cameras]


def labels(capsys: Capture) -> dict[int, object]:
    """Return the printed predictions, by the index of the image."""
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {line["frame"] % len(PICTURES): line["predictions"] for line in lines}


def test_the_same_labels_as_of_copies(picamera2: Picamera, driver: CameraDriver, model: Path, capsys: Capture) -> None:
    assert camera(model, "--frames", "40") == 0
    shared = labels(capsys)
    assert configured_formats(picamera2) == ["XBGR8888"]
    assert driver.imports == 41, "the first frame twice: it is compared"
    assert driver.alive == 0
    picamera2.given = 0
    assert camera(model, "--frames", "40", "--upload") == 0
    assert configured_formats(picamera2) == ["XBGR8888", "BGR888"]
    assert driver.imports == 41
    copied = labels(capsys)
    common = shared.keys() & copied.keys()
    assert common and {key: shared[key] for key in common} == {key: copied[key] for key in common}
    assert len({json.dumps(predictions) for predictions in shared.values()}) == len(shared), (
        "pictures that the model tells apart"
    )


def test_without_the_extension_frames_are_copied(
    picamera2: Picamera, model: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dma_import, "EXTENSION", "EGL_EXT_of_no_driver")  # Mesa 25's llvmpipe has the real one
    assert camera(model, "--frames", "3") == 0
    assert configured_formats(picamera2) == ["BGR888"]
    printed = capsys.readouterr()
    assert (printed.err, printed.out.count("\n")) == ("", 3)


def test_a_driver_that_refuses_the_format(
    picamera2: Picamera, driver: CameraDriver, model: Path, capsys: Capture
) -> None:
    driver.refuses = True
    assert camera(model, "--frames", "3") == 0
    assert configured_formats(picamera2) == ["XBGR8888", "BGR888"]
    printed = capsys.readouterr()
    assert printed.out.count("\n") == 3
    assert printed.err.count("\n") == 1
    assert printed.err.startswith(
        "note: the dma-buf of 640 x 480 pixels XB24, rows of 2624 bytes cannot be read by the"
    )
    assert "refuses it (EGL_BAD_ATTRIBUTE); frames are copied to the GPU instead" in printed.err


def test_wrongly_imported_dma_bufs_are_replaced_by_copies(
    picamera2: Picamera, driver: CameraDriver, model: Path, capsys: Capture
) -> None:
    driver.garbles = True
    assert camera(model, "--frames", "3") == 0
    assert configured_formats(picamera2) == ["XBGR8888", "BGR888"]
    assert "note: the driver reads something else in 640 x 480 pixels XB24" in capsys.readouterr().err
    assert driver.alive == 0


def test_a_camera_that_gives_another_format(
    picamera2: Picamera, driver: CameraDriver, model: Path, capsys: Capture
) -> None:
    picamera2.gives["XBGR8888"] = "YUYV"
    assert camera(model, "--frames", "3") == 0
    assert configured_formats(picamera2) == ["YUYV", "BGR888"]
    assert "note: the camera gives YUYV and not XBGR8888; frames are copied" in capsys.readouterr().err


def test_a_camera_that_is_unplugged(picamera2: Picamera, driver: CameraDriver, model: Path, capsys: Capture) -> None:
    picamera2.left = 7
    assert camera(model) == 1
    assert "picamera2: the camera gives no more frames (the cable)" in capsys.readouterr().err
    assert driver.alive == 0


def test_an_import_error_releases_all_frames(
    picamera2: Picamera, driver: CameraDriver, model: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = dma_import.Importer.texture

    def texture(self: dma_import.Importer, picture: object, slot: int) -> int:
        driver.refuses = driver.imports >= 5
        return real(self, picture, slot)  # type: ignore[arg-type]

    monkeypatch.setattr(dma_import.Importer, "texture", texture)
    assert camera(model) == 2
    printed = capsys.readouterr()
    assert "error: the dma-buf of 640 x 480 pixels" in printed.err and "note:" not in printed.err
    assert printed.out.count("\n") >= 2
    assert driver.alive == 0


def test_every_skips_frames_of_a_fast_camera(
    picamera2: Picamera, driver: CameraDriver, model: Path, capsys: Capture
) -> None:
    picamera2.left = 400
    assert camera(model, "--every", "7") == 1, "it ends when the camera is unplugged"
    frames = [json.loads(line)["frame"] for line in capsys.readouterr().out.splitlines()]
    assert frames and all(frame % 7 == 0 for frame in frames)


def test_the_window_copies(
    picamera2: Picamera, driver: CameraDriver, model: Path, tmp_path: Path, screen: str, capsys: Capture
) -> None:
    argv = ["camera", "--source", "picamera2", "--model", str(model), "--window", "--frames", "2"]
    assert main([*argv, "--screenshot", str(tmp_path / "shot.png")]) == 0
    assert configured_formats(picamera2) == ["BGR888"]
    assert (tmp_path / "shot.png").stat().st_size > 1000
