"""Work that a tile-based GPU does for nothing, or twice: queued uploads and clears."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from faulty_driver import FaultyApi
from layer_check import make_bundle, stored_inputs
from test_driver_forms import network
from tiny import tiny_bundle, tiny_picture

from glsl_infer.bundle import Bundle
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.runtime.session import Session

QUEUED, DONE, UPLOAD = ("Clear", "DrawArrays"), ("Finish", "ReadPixels"), "TexSubImage2D"


class Recording(FaultyApi):
    """The real library, and the names of the calls that queue commands, wait for their end, or upload."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        for name in (*QUEUED, *DONE, UPLOAD):
            self.hook(name, self.recorded(name))

    def recorded(self, name: str) -> Any:
        def call(real: Any, *arguments: Any) -> Any:
            self.calls.append(name)
            return real(*arguments)

        return call

    def last_before_uploads(self) -> list[str]:
        """Return the last other call before each upload."""
        other_calls = [name for name in self.calls if name != UPLOAD]
        counts = np.cumsum([name != UPLOAD for name in self.calls])
        return [other_calls[count - 1] if count else "" for count, name in zip(counts, self.calls) if name == UPLOAD]


@pytest.fixture
def recording(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Recording, Session]]:
    recording = Recording()
    monkeypatch.setattr("glsl_infer.gl.context.gles2", lambda: recording)
    with Context() as context, Session(tiny_bundle(), context=context) as session:
        recording.calls.clear()
        yield recording, session


def large_picture() -> np.ndarray:
    return np.random.default_rng(5).integers(0, 256, (40, 50, 3), np.uint8)


def test_a_layer_alone_gets_its_inputs_after_the_clears(recording: tuple[Recording, Session]) -> None:
    calls, session = recording
    bundle = session.bundle
    for layer in bundle.network.layers[1:]:
        session.run_layer(layer.name, [np.zeros(bundle.graph.shapes[name]) for name in layer.inputs])
    before = calls.last_before_uploads()
    assert len(before) > len(bundle.network.layers)
    assert set(before) == {"Finish"}


def test_a_picture_that_takes_the_place_of_a_scaled_one(recording: tuple[Recording, Session]) -> None:
    calls, session = recording
    expected = session.run(tiny_picture(0))
    session.upload(large_picture())
    calls.calls.clear()
    session.upload(tiny_picture(0))
    assert calls.calls == ["Finish", UPLOAD]
    session.submit()
    np.testing.assert_array_equal(session.read_back(), expected)


def test_the_first_layer_alone_after_a_scaled_picture(recording: tuple[Recording, Session]) -> None:
    calls, session = recording
    first = session.bundle.network.layers[1]
    session.upload(large_picture())
    calls.calls.clear()
    session.run_layer(first.name, [tiny_picture(0) / 255.0])
    assert calls.calls[:2] == ["Finish", UPLOAD]


def test_frames_do_not_call_finish(recording: tuple[Recording, Session]) -> None:
    calls, session = recording
    pictures = [large_picture(), tiny_picture(0), large_picture(), tiny_picture(1), tiny_picture(2)]
    for picture in pictures:
        session.run(picture)
    assert len(list(session.stream(pictures))) == len(pictures)
    assert "Finish" not in calls.calls


def clears(session: Session) -> int:
    return Counter(function.__name__ for function, _ in session.frame)["glClear"]


@pytest.fixture(scope="module", params=["by-size", "naive"])
def bundle(request: pytest.FixtureRequest) -> Bundle:
    return make_bundle(network(7), "auto", memory=request.param)


@pytest.mark.drivers
def test_uploaded_texels_do_not_depend_on_earlier_layers(
    context: Context, bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(8)
    picture = rng.integers(0, 256, (17, 17, 3), np.uint8)
    targets = [texture.name for texture in bundle.manifest.textures if texture.kind == "target"]
    results = []
    for at_once in (False, True):
        monkeypatch.setitem(driver_of(context).__dict__, "draws_at_once", at_once)
        with Session(bundle, context=context, selfcheck=True) as session:
            assert (clears(session) < bundle.manifest.jobs) == at_once
            for layer in bundle.network.layers[1:]:
                session.run_layer(layer.name, stored_inputs(bundle, layer.name, rng))
            output = session.run(picture).tobytes()
            results.append([output, *(session.read_texture(name).tobytes() for name in targets)])
    assert results[0] == results[1]


@pytest.mark.drivers
def test_targets_are_clear_before_the_first_frame(
    context: Context, bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(driver_of(context).__dict__, "draws_at_once", True)
    gl = context.gl
    gl.Enable(GL.GL_SCISSOR_TEST)  # of another user of the context; it would block a clear
    with Session(bundle, context=context) as session:
        for texture in bundle.manifest.textures:
            if texture.kind == "target":
                assert (session.read_texture(texture.name) == np.array(texture.clear, np.uint8)).all(), texture.name


@pytest.mark.drivers
def test_two_frames_on_their_way(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = [tiny_picture(seed) for seed in range(4)]
    with Session(tiny_bundle(), context=context) as session:
        expected = [session.run(picture) for picture in pictures]
    monkeypatch.setitem(driver_of(context).__dict__, "draws_at_once", True)
    with Session(tiny_bundle(), context=context) as session:
        np.testing.assert_array_equal(list(session.stream(pictures)), expected)
