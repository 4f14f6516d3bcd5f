"""Several pending frames: each result belongs to its own image, with any calls in between."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import image_models
import numpy as np
import pytest
from gl_objects import live_object_count
from pairwise import each_of
from tiny import tiny_bundle, tiny_picture

from glsl_infer.errors import ContextError, ImageError, InputError, RunError
from glsl_infer.gl import fences
from glsl_infer.gl.context import Context
from glsl_infer.gl.fences import Fence
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.runtime.pipeline import SLOTS, WAITS, Wait
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")

FRAMES = 7


@pytest.fixture(params=[True, False], ids=["fences", "no fences"])
def session(context: Context, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """A session with fences, if the driver has them, and a session without."""
    if not request.param:
        monkeypatch.setattr(fences, "available", lambda context: False)
    elif not fences.available(context):
        pytest.skip("this driver has no fences")
    with Session(tiny_bundle(), context=context) as session:
        yield session


@pytest.fixture(scope="module")
def expected(context: Context) -> list[np.ndarray]:
    with Session(tiny_bundle(), context=context) as plain:
        results = [plain.run(tiny_picture(seed)) for seed in range(FRAMES)]
    assert len({output.tobytes() for output in results}) == FRAMES
    return results


@each_of(("wait", WAITS), ("count", [0, 1, 2, 3, FRAMES]))
def test_a_stream_has_every_result_in_order(
    session: Session, expected: list[np.ndarray], wait: Wait, count: int
) -> None:
    items = list(session.stream((tiny_picture(seed) for seed in range(count)), wait=wait))
    np.testing.assert_array_equal(np.array(items), np.array(expected[:count]))


@each_of(("weights", ["baked", "uniform"]), ("layout", ["atlas", "planar"]))
def test_every_kind_of_bundle(context: Context, weights: str, layout: str) -> None:
    with Session(tiny_bundle(weights, layout), context=context) as session:
        one_by_one = [session.run(tiny_picture(seed)) for seed in range(4)]
        np.testing.assert_array_equal(list(session.stream(map(tiny_picture, range(4)))), one_by_one)


def test_images_as_output(context: Context) -> None:
    with Session(image_models.doubled(), context=context) as session:
        size = image_models.SIZE
        pictures = list(np.random.default_rng(0).integers(0, 256, (4, size, size, 3), np.uint8))
        np.testing.assert_array_equal(list(session.stream(pictures)), [session.run(picture) for picture in pictures])


def test_results_can_be_read_in_any_order(session: Session, expected: list[np.ndarray]) -> None:
    frames = [session.run_async(tiny_picture(seed)) for seed in range(FRAMES)]
    for seed in (3, 6, 0, 5, 1, 2, 4, 6):
        np.testing.assert_array_equal(frames[seed].result(), expected[seed])


def test_a_stream_is_one_frame_ahead(session: Session) -> None:
    calls: list[int] = []

    def camera() -> Iterator[np.ndarray]:
        for seed in range(4):
            calls.append(seed)
            yield tiny_picture(seed)

    results = session.stream(camera())
    next(results)
    assert calls == [0, 1]
    next(results)
    assert calls == [0, 1, 2]
    results.close()


def test_no_more_than_two_are_on_their_way(session: Session, expected: list[np.ndarray]) -> None:
    frames = [session.run_async(tiny_picture(seed)) for seed in range(SLOTS + 1)]
    assert frames[0].done(), "the third took its place"
    session.context.gl.Finish()
    if fences.available(session.context):
        assert [frame.done() for frame in frames] == [True] * (SLOTS + 1)
    else:
        assert [frame.done() for frame in frames] == [True] + [False] * SLOTS
    np.testing.assert_array_equal([frame.result() for frame in frames], expected[: SLOTS + 1])
    assert all(frame.done() for frame in frames)


@pytest.mark.parametrize("between", ["run", "layers", "run_layer", "read_texture", "selfcheck"])
def test_other_uses_of_the_session_come_between(session: Session, expected: list[np.ndarray], between: str) -> None:
    frames = [session.run_async(tiny_picture(seed)) for seed in (1, 2)]
    if between == "run":
        np.testing.assert_array_equal(session.run(tiny_picture(0)), expected[0])
    elif between == "layers":
        np.testing.assert_array_equal(dict(session.layers(tiny_picture(0)))["dense"], expected[0])
    elif between == "run_layer":
        session.run_layer("stem", [np.zeros((9, 9, 3), np.float32)])
    elif between == "read_texture":
        session.read_texture(session.bundle.manifest.outputs[0].values[0].texture)
    else:
        session.selfcheck()
    frames.append(session.run_async(tiny_picture(3)))
    np.testing.assert_array_equal([frame.result() for frame in frames], expected[1:4])


def test_sessions_that_share_a_context_take_turns(context: Context, expected: list[np.ndarray]) -> None:
    with Session(tiny_bundle(), context=context) as session, Session(tiny_bundle("uniform"), context=context) as other:
        pairs = [(session.run_async(tiny_picture(seed)), other.run_async(tiny_picture(seed))) for seed in range(3)]
        for seed, (frame, other_frame) in enumerate(pairs):
            np.testing.assert_array_equal(frame.result("spin"), expected[seed])
            np.testing.assert_allclose(other_frame.result(), expected[seed], atol=0.05)


def test_a_refused_image_does_not_affect_other_frames(session: Session, expected: list[np.ndarray]) -> None:
    frames = [session.run_async(tiny_picture(0))]
    with pytest.raises(ImageError, match="uint8"):
        session.run_async(np.zeros((9, 9), np.uint8))
    frames.append(session.run_async(tiny_picture(1)))
    np.testing.assert_array_equal([frame.result() for frame in frames], expected[:2])


def test_an_error_of_the_camera_passes_through(session: Session, expected: list[np.ndarray]) -> None:
    def camera() -> Iterator[np.ndarray]:
        yield tiny_picture(0)
        yield tiny_picture(1)
        raise OSError("unplugged")

    results = session.stream(camera())
    np.testing.assert_array_equal(next(results), expected[0])
    with pytest.raises(OSError, match="unplugged"):
        next(results)
    np.testing.assert_array_equal(session.run(tiny_picture(2)), expected[2])


def test_unknown_wait_modes_are_refused(session: Session, expected: list[np.ndarray]) -> None:
    frame = session.run_async(tiny_picture(0))
    with pytest.raises(InputError, match="'nap'"):
        frame.result("nap")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="wait='nap'"):
        next(session.stream([], wait="nap"))  # type: ignore[arg-type]
    np.testing.assert_array_equal(frame.result(), expected[0])


def test_closing_keeps_read_results_and_abandons_pending_frames(session: Session, expected: list[np.ndarray]) -> None:
    read, unread = (session.run_async(tiny_picture(seed)) for seed in range(2))
    read.result()
    session.close()
    np.testing.assert_array_equal(read.result(), expected[0])
    assert unread.done(), "there is nothing to wait for"
    for _ in range(2):
        with pytest.raises(RunError, match="closed before this frame was read"):
            unread.result()
    with pytest.raises(RunError, match="the session is closed"):
        session.run_async(tiny_picture(0))


def test_closing_frees_every_gl_object() -> None:
    with Context() as fresh:  # a new context numbers its objects from 1
        driver_of(fresh).device_lines  # noqa: B018  (measured once, with objects of its own)
        before = live_object_count(fresh.gl)
        with Session(tiny_bundle(), context=fresh) as session:
            alone = live_object_count(fresh.gl)
            frames = [session.run_async(tiny_picture(seed)) for seed in range(3)]
            assert live_object_count(fresh.gl) > alone
        assert live_object_count(fresh.gl) == before
        assert frames[0].result().shape == (3,)


def test_another_thread_gets_a_clear_error() -> None:
    errors: list[str] = []

    def use() -> None:
        try:
            frame.result()
        except ContextError as error:
            errors.append(str(error))

    with Session(tiny_bundle()) as session:
        frame = session.run_async(tiny_picture(0))
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        assert errors
        assert "give each thread its own Session" in errors[0]
        assert frame.result().shape == (3,)


def test_a_frame_makes_the_calls_of_a_frame(context: Context) -> None:
    with Session(tiny_bundle(), context=context) as session:
        session.run(tiny_picture(0))
        for _ in range(SLOTS):
            session.run_async(tiny_picture(0)).result()
        with context.gl.counting() as counts:
            session.run_async(tiny_picture(0)).result()
        assert counts == {
            "glActiveTexture": 1,
            "glBindTexture": 1,
            "glTexSubImage2D": 1,
            "glFlush": 1,
            "glBindFramebuffer": 1,
            "glReadPixels": 1,
        }, "besides those that were recorded"


def test_a_fence_passes_when_the_gpu_does(context: Context) -> None:
    if not fences.available(context):
        pytest.skip("this driver has no fences")
    with Fence() as fence:
        context.gl.Finish()
        assert fence.passed()
        fence.sleep()
        fence.spin()
    assert fence.passed(), "a closed fence does not block"
