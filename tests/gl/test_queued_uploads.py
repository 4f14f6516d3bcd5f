"""No command for a texture is queued at an upload into it: Mesa 22.3's vc4 would draw it over the upload.

No driver here has this fault, so the tests check the order of calls. docs/engineering/videocore.md describes the fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from faulty_driver import FaultyApi
from tiny import tiny_bundle, tiny_picture

from glsl_infer.gl.context import Context
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
        others = [name for name in self.calls if name != UPLOAD]
        counts = np.cumsum([name != UPLOAD for name in self.calls])
        return [others[count - 1] if count else "" for count, name in zip(counts, self.calls) if name == UPLOAD]


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
    made = session.bundle
    for layer in made.network.layers[1:]:
        session.run_layer(layer.name, [np.zeros(made.graph.shapes[name]) for name in layer.inputs])
    before = calls.last_before_uploads()
    assert len(before) > len(made.network.layers)
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


def test_frames_wait_for_nothing(recording: tuple[Recording, Session]) -> None:
    calls, session = recording
    pictures = [large_picture(), tiny_picture(0), large_picture(), tiny_picture(1), tiny_picture(2)]
    for picture in pictures:
        session.run(picture)
    assert len(list(session.stream(pictures))) == len(pictures)
    assert "Finish" not in calls.calls
