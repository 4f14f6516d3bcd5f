"""Sessions and contexts that are not closed: freed with their last reference, in any thread, with a warning."""

from __future__ import annotations

import gc
import os
import threading
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny
from command_line import run_python
from gl_objects import live_object_count
from numpy.testing import assert_array_equal

from glsl_infer.errors import RunError
from glsl_infer.gl.context import Context
from glsl_infer.runtime.classifier import Classifier
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")

SESSIONS = 50


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    """Disable the cycle collector, so that objects are freed by reference counts alone."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def use(session: Session) -> None:
    """Use all features of a session: layers, a pipeline with an unread frame, and a scaled image."""
    session.run(tiny.tiny_picture(1))
    session.run(tiny.tiny_picture(1).repeat(2, 0).repeat(2, 1))
    assert dict(session.layers(tiny.tiny_picture(2)))
    session.run_async(tiny.tiny_picture(1)).result()
    session.run_async(tiny.tiny_picture(2))


def test_sessions_on_one_context_leave_no_gl_object(context: Context) -> None:
    counts = set()
    for _ in range(SESSIONS):
        session = Session(tiny.tiny_bundle(), context=context)
        use(session)
        with pytest.warns(ResourceWarning, match="unclosed session of tiny: close it, or use it in a 'with'") as warned:
            del session
        assert len(warned) == 1
        context.make_current()
        counts.add(live_object_count(context.gl))
    assert len(counts) == 1


MEMORY = """
import sys, warnings
import tiny
from glsl_infer.session import Session
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
warned = []
warnings.showwarning = lambda message, category, *rest: warned.append(category)
warnings.simplefilter("always")
for index in range(int(sys.argv[1]) + 5):
    if index == 5:
        before = resident()
    session = Session(tiny.tiny_bundle())
    session.run(tiny.tiny_picture(1))
    session.run_async(tiny.tiny_picture(2))
    del session
print(resident() - before, warned.count(ResourceWarning))
"""


@pytest.mark.exhaustive
def test_sessions_with_their_own_contexts_leave_no_memory() -> None:
    here = Path(__file__).parents[1]
    done = run_python("-c", MEMORY, SESSIONS, check=True, PYTHONPATH=f"{here}{os.pathsep}{here.parent}")
    grown, warned = map(int, done.stdout.split())
    assert warned == SESSIONS + 5
    assert grown < SESSIONS * 1_000_000, f"{grown / SESSIONS:.0f} bytes a session"


def test_freeing_sessions_does_not_disturb_a_frame_of_another(context: Context) -> None:
    picture = tiny.tiny_picture(3)
    with Session(tiny.tiny_bundle(), context=context) as session:
        expected = session.run(picture)
        on_same, on_own = Session(tiny.tiny_bundle(), context=context), Session(tiny.tiny_bundle())
        use(on_same)
        use(on_own)
        session.upload(picture)
        with pytest.warns(ResourceWarning) as warned:
            del on_same, on_own
        assert len(warned) == 2
        session.submit()
        assert_array_equal(session.read_back(), expected)
        assert_array_equal(session.run(picture), expected)


def test_another_thread_can_drop_a_session(context: Context) -> None:
    sessions = [Session(tiny.tiny_bundle(), context=context), Session(tiny.tiny_bundle())]
    for session in sessions:
        use(session)
    context.make_current()
    before = live_object_count(context.gl)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        thread = threading.Thread(target=sessions.clear)
        del session
        thread.start()
        thread.join()
    assert [warning.category for warning in warned] == [ResourceWarning] * 2
    context.make_current()
    assert live_object_count(context.gl) < before


def test_a_session_in_a_reference_cycle_is_freed_by_the_collector() -> None:
    session = Session(tiny.tiny_bundle())
    destroyed = weakref.ref(session.context.native)
    session.mine = session.context.mine = [session]  # type: ignore[attr-defined]
    with pytest.warns(ResourceWarning, match="unclosed session") as warned:
        del session
        gc.collect()
    assert len(warned) == 1
    del warned  # a stored warning keeps a reference to its source
    gc.collect()
    with Context():
        assert destroyed() is None


def test_a_classifier_and_a_context_warn_once() -> None:
    with pytest.warns(ResourceWarning, match="unclosed session of tiny") as warned:
        Classifier(tiny.tiny_bundle())
    assert len(warned) == 1
    with pytest.warns(ResourceWarning, match=r"unclosed OpenGL context \(") as warned:
        Context()
    assert len(warned) == 1


def test_closed_and_failed_sessions_do_not_warn(context: Context, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        Session(tiny.tiny_bundle()).close()
        Context().close()
        for wrong in ("magic", "auto"):
            with pytest.raises(Exception, match=r"nowhere|magic"):
                Session(tmp_path / "nowhere.glslnn", context=wrong)
        context_closed_first = Context()
        session = Session(tiny.tiny_bundle(), context=context_closed_first)
        context_closed_first.close()
        del session
    assert not warned


def test_a_frame_outlives_its_session_as_an_error() -> None:
    session = Session(tiny.tiny_bundle())
    read, unread = session.run_async(tiny.tiny_picture(1)), session.run_async(tiny.tiny_picture(2))
    output = read.result()
    with pytest.warns(ResourceWarning):
        del session
    assert_array_equal(read.result(), output)
    with pytest.raises(RunError, match="the session was closed before this frame was read"):
        unread.result()


def test_a_context_outlives_the_session_that_made_it() -> None:
    first = Session(tiny.tiny_bundle())
    with Session(tiny.tiny_bundle(), context=first.context) as second:
        expected = first.run(tiny.tiny_picture(1))
        with pytest.warns(ResourceWarning):
            del first
        assert_array_equal(second.run(tiny.tiny_picture(1)), expected)
