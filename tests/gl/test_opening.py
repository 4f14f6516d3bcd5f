"""A session reads its file while it creates its context; an error in either leaves nothing open."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Union

import pytest
from tiny import tiny_picture, write_tiny

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.errors import BundleError, ContextError
from glsl_infer.gl.context import Context
from glsl_infer.runtime import opening
from glsl_infer.runtime.classifier import Classifier
from glsl_infer.runtime.session import Session
from glsl_infer.support.stopwatch import Stopwatch

pytestmark = pytest.mark.drivers("all")

ENOUGH = 60.0
"""Seconds to wait for another thread, which needs far less."""


def test_both_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_tiny(tmp_path)
    begun, reading = threading.Event(), threading.Event()
    read, readers = bundles.read, []

    def waiting(path: Union[str, Path]) -> Bundle:
        readers.append(threading.current_thread())
        reading.set()
        assert begun.wait(ENOUGH), "the context is made only when the file has been read"
        return read(path)

    class Made(Context):
        def __init__(self, choice: str) -> None:
            begun.set()
            assert reading.wait(ENOUGH), "the file is read only when the context has been made"
            super().__init__(choice)

    monkeypatch.setattr(bundles, "read", waiting)
    monkeypatch.setattr(opening, "Context", Made)
    with Session(path, cache=False) as session:
        assert session.bundle == read(path)
        assert session.context.native.is_current(), "in the thread that made the session"
        assert session.run(tiny_picture(1)).size
        assert list(session.start_up)[:2] == ["context", "bundle"]
    assert readers != [threading.current_thread()]
    assert not any(one.is_alive() for one in readers)


def test_a_bad_file_leaves_no_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Context] = []

    class Made(Context):
        def __init__(self, choice: str) -> None:
            super().__init__(choice)
            made.append(self)

    monkeypatch.setattr(opening, "Context", Made)
    (tmp_path / "bad.glslnn").write_bytes(b"no zip")
    with pytest.raises(BundleError, match="not a glsl-infer model"):
        opening.read_beside(tmp_path / "bad.glslnn", "auto", Stopwatch())
    assert len(made) == 1
    with pytest.raises(ContextError, match="is closed"):
        made[0].make_current()


def test_a_bad_file_is_said_before_a_missing_driver(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="no such file"):
        Session(tmp_path / "nowhere.glslnn", context="magic")
    with pytest.raises(ContextError, match="context 'magic'; choose one of"):
        Session(write_tiny(tmp_path), context="magic")


def test_a_classifier_does_so_as_well(tmp_path: Path) -> None:
    with Classifier(write_tiny(tmp_path)) as classifier:
        assert list(classifier.session.start_up)[:2] == ["context", "bundle"]
        assert classifier.labels
