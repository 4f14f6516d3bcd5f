"""Dma-bufs: a round trip if the driver exports and imports them, and the error messages if it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from dma_buf_round_trip import STEPS, export_refusal, image_of, image_refusal, round_trip
from gl_objects import live_object_count
from pages import ROOT
from test_gpu_input import photograph, upload
from tiny import SIZE, tiny_bundle, tiny_picture, write_tiny

from glsl_infer import DmaBuf, DmaBufPlane
from glsl_infer.errors import ImageError, RunError
from glsl_infer.gl import dma_import, egl, egl_image
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects
from glsl_infer.runtime.session import Session

SCRIPT = ROOT / "scripts/bench/dma_buf_round_trip.py"

pytestmark = pytest.mark.drivers("all")

FRAME = DmaBuf(64, 48, "XB24", (DmaBufPlane(0, 0, 256),))


@pytest.fixture(scope="module")
def session(context: Context) -> Iterator[Session]:
    with Session(tiny_bundle(), context=context) as session:
        yield session


@pytest.mark.parametrize(("width", "height"), [(SIZE, SIZE), (64, 48), (640, 480), (101, 77), (3, 5)])
def test_the_round_trip(context: Context, session: Session, width: int, height: int) -> None:
    why = export_refusal(context)
    if why is not None:
        pytest.skip(why)
    try:
        row = round_trip(session, width, height)
    except RunError as error:  # some drivers have the extension and export nothing
        pytest.skip(str(error))
    assert {step: row[step] for step in STEPS} == dict.fromkeys(STEPS, 0.0)


def test_a_driver_without_imports_is_reported_and_the_session_continues(context: Context, session: Session) -> None:
    why = dma_import.refusal(context)
    if why is None:
        pytest.skip("this driver imports dma-bufs")
    assert "has no EGL_EXT_image_dma_buf_import" in why
    before = session.run(tiny_picture(0))
    for call in (session.run, session.run_async, session.upload, lambda picture: list(session.stream([picture]))):
        with pytest.raises(ImageError, match=r"the dma-buf of 64 x 48 pixels XB24.* cannot be read by the GPU: "):
            call(FRAME)
    np.testing.assert_array_equal(session.run(tiny_picture(0)), before)


def test_a_dma_buf_that_no_texture_holds(session: Session) -> None:
    with pytest.raises(ImageError, match="a dma-buf of 1048576 x 3; this GPU has them from 1 x 1 to"):
        session.run(DmaBuf(1 << 20, 3, "XB24", FRAME.planes))


def test_the_script_compares_imported_buffers(tmp_path: Path, context: Context) -> None:
    words = [sys.executable, str(SCRIPT), str(write_tiny(tmp_path)), "--context", "surfaceless", "--size"]
    done = subprocess.run(
        [*words, "20x30"], capture_output=True, text=True, check=False, cwd=tmp_path, env=os.environ, timeout=300
    )
    assert done.stdout.startswith("surfaceless: "), done.stderr
    if "exports no dma-buf" in done.stdout + done.stderr:
        pytest.skip("the driver has the extension and exports nothing")
    if export_refusal(context) is None:
        assert (done.returncode, "off by external 0, dma-buf 0, changed 0\n" in done.stdout) == (0, True), done.stdout
    else:
        assert done.returncode == 2
        assert "  20x30: off by external 0\n" in done.stdout
        assert "not here: the driver (" in done.stdout and "EGL_MESA_image_dma_buf_export" in done.stdout
        assert "no context here exports and imports dma-bufs" in done.stderr
    done = subprocess.run([*words, "20"], capture_output=True, text=True, check=False, env=os.environ, timeout=300)
    assert (done.returncode, "give WIDTHxHEIGHT" in done.stderr) == (2, True)


# With an EGLImage of a texture instead of a dma-buf: the importer's logic, on any driver ------------------


class _Imported:
    """A fake import that returns an EGLImage of the next of some textures for any dma-buf.

    Some drivers create only one EGLImage of a texture at a time.
    """

    def __init__(self, textures: Iterable[int]) -> None:
        self.textures, self.made = cycle(textures), list[egl_image.EglImage]()

    def __call__(self, target: int, buffer: int | None, attributes: list[int]) -> egl_image.EglImage:
        assert (target, buffer) == (0x3270, None)
        assert attributes[:4] == [0x3057, FRAME.width, 0x3056, FRAME.height]
        self.made.append(image_of(next(self.textures)))
        return self.made[-1]

    def alive(self) -> int:
        return sum(image.handle is not None for image in self.made)


@pytest.fixture
def imported(context: Context, session: Session, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Imported]:
    """Replace EGL's import by existing textures."""
    why = image_refusal(context)
    if why is not None:
        pytest.skip(why)
    with Objects(context.gl) as objects:
        pixels = photograph(FRAME.width, FRAME.height)
        fake = _Imported([upload(context, objects, pixels).texture for _ in range(4)])
        monkeypatch.setattr(dma_import, "EglImage", fake)
        monkeypatch.setattr(dma_import, "refusal", lambda context: None)
        session.gpu_executors[0]._importer.__dict__.pop("_refusal", None)
        yield fake
        session.gpu_executors[0]._importer.__dict__.pop("_refusal", None)


@pytest.fixture
def expected(session: Session) -> np.ndarray:
    return session.run(photograph(FRAME.width, FRAME.height))


def test_imported_frames_have_the_expected_output(session: Session, imported: _Imported, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(session.run(FRAME), expected)
    assert len(imported.made) == 1 and imported.alive() == 0, "once, and given back when the output was read"


def test_an_import_lasts_until_its_own_output_is_read(
    session: Session, imported: _Imported, expected: np.ndarray
) -> None:
    first, second = session.run_async(FRAME), session.run_async(FRAME)
    assert imported.alive() == 2
    np.testing.assert_array_equal(first.result(), expected)
    assert [image.handle is not None for image in imported.made] == [False, True]
    np.testing.assert_array_equal(second.result(), expected)
    assert imported.alive() == 0


def test_streams_of_imports_and_pixels(session: Session, imported: _Imported, expected: np.ndarray) -> None:
    other = session.run(tiny_picture(1))
    outputs = list(session.stream([FRAME, tiny_picture(1), FRAME, FRAME, tiny_picture(1)]))
    np.testing.assert_array_equal(outputs, [expected, other, expected, expected, other])
    assert len(imported.made) == 3 and imported.alive() == 0


def test_a_new_picture_replaces_one_that_was_not_run(session: Session, imported: _Imported) -> None:
    session.upload(FRAME)
    assert imported.alive() == 1
    session.upload(tiny_picture(0))
    assert imported.alive() == 0


def test_closing_gives_imports_back(context: Context, imported: _Imported) -> None:
    before = live_object_count(context.gl)
    with Session(tiny_bundle(), context=context) as other:
        for _ in range(3):
            other.run_async(FRAME)
        assert imported.alive() == 2
    assert imported.alive() == 0
    assert live_object_count(context.gl) == before


def test_a_refused_import_is_an_error_of_its_frame_only(
    session: Session, imported: _Imported, monkeypatch: pytest.MonkeyPatch, expected: np.ndarray
) -> None:
    def refuses(*arguments: object) -> None:
        raise ImageError("EGL_BAD_MATCH")

    with monkeypatch.context() as patch:
        patch.setattr(dma_import, "EglImage", refuses)
        with pytest.raises(ImageError, match=r"the driver refuses it \(EGL_BAD_MATCH\)"):
            session.run(FRAME)
    np.testing.assert_array_equal(session.run(FRAME), expected)


def test_formats_and_modifiers_that_the_driver_does_not_list(
    context: Context, imported: _Imported, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = DmaBuf(FRAME.width, FRAME.height, "XB24", FRAME.planes, modifier=5)
    real_extensions = egl.display_extensions
    if dma_import.MODIFIERS_EXTENSION not in real_extensions():
        with (
            dma_import.Importer(context) as importer,
            pytest.raises(ImageError, match="has no EGL_EXT_image_dma_buf_import_modifiers; leave the modifier out"),
        ):
            importer.texture(plain, 0)
    monkeypatch.setattr(egl, "display_extensions", lambda: [*real_extensions(), dma_import.MODIFIERS_EXTENSION])
    monkeypatch.setattr(dma_import, "formats", lambda: [0x34324258, 0x3231564E])
    monkeypatch.setattr(dma_import, "modifiers", lambda code: {0x34324258: [0, 7], 0x3231564E: []}[code])
    with dma_import.Importer(context) as importer:
        with pytest.raises(ImageError, match="the driver does not take YU12, but NV12, XB24"):
            importer.texture(DmaBuf(64, 48, "YU12", FRAME.planes * 3), 0)
        with pytest.raises(ImageError, match="takes XB24 with other modifiers: 0x0, 0x7"):
            importer.texture(plain, 0)
        assert imported.made == []
        for modifier in (None, 0, 7):
            importer.texture(DmaBuf(64, 48, "XB24", FRAME.planes, modifier), 0)
        importer.texture(DmaBuf(64, 48, "NV12", FRAME.planes * 2, modifier=9), 1)  # the driver lists no modifiers
        assert imported.alive() == 2, "one a slot"
    assert imported.alive() == 0
