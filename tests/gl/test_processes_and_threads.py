"""Threads with a session each, forks of a process that draws, and a model file that is replaced meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from command_line import run_python
from numpy.typing import NDArray
from parted import parted_bundle
from PIL import Image
from tiny import tiny_bundle, tiny_picture, write_tiny

from glsl_infer.bundle import Bundle, write
from glsl_infer.errors import BundleError, GlslInferError
from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session
from glsl_infer.support.files import TEMPORARY

ROOT = Path(__file__).resolve().parents[2]
PICTURES = [tiny_picture(seed) for seed in range(8)]

FORKS = """
import os, signal, sys
from glsl_infer.errors import ContextError
from glsl_infer.session import Session
import numpy as np

picture = np.zeros((9, 9, 3), np.uint8)
session = Session(sys.argv[1])
before = session.run(picture)
child = os.fork()
if child == 0:
    signal.alarm(60)  # a draw without the driver's threads would wait for ever
    for use in (lambda: session.run(picture), lambda: Session(sys.argv[1])):
        try:
            use()
        except ContextError as error:
            print(error)
    session.close()
    sys.stdout.flush()
    os._exit(0)
print(os.waitpid(child, 0)[1], flush=True)
assert np.array_equal(session.run(picture), before)
session.close()
"""


def test_fork_after_use(tmp_path: Path) -> None:
    """A forked copy is refused with a message, and does not affect the original process."""
    done = run_python("-W", "ignore", "-c", FORKS, write_tiny(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    *errors, status = done.stdout.splitlines()
    assert status == "0"
    assert len(errors) == 2
    assert all("forked" in error and "'spawn'" in error for error in errors)


def test_threads_with_a_session_each() -> None:
    expected = expected_logits()
    results: dict[int, list[NDArray[np.float32]]] = {}

    def work(index: int) -> None:
        with Session(tiny_bundle(), cache=False) as session:
            results[index] = [session.run(picture) for _ in range(5) for picture in PICTURES]

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [0, 1, 2, 3]
    for logits in results.values():
        assert np.array_equal(logits, expected * 5)


def uses(session: Session, picture: NDArray[np.uint8]) -> dict[str, Callable[[], object]]:
    """Return a call of each method and property of a session."""
    gpu = session.bundle.gpu_parts[0].manifest
    layers = [name for part in session._parts for name in part.computed]
    return {
        "run": lambda: session.run(picture),
        "run_async": lambda: session.run_async(picture),
        "stream": lambda: next(session.stream([picture])),
        "upload": lambda: session.upload(picture),
        "submit": session.submit,
        "read_back": session.read_back,
        "output_values": session.output_values,
        "layers": lambda: list(session.layers(picture)),
        "saturation": lambda: session.saturation(picture),
        **{f"run_layer {name}": partial(session.run_layer, name, []) for name in layers},
        "input_pixels": session.input_pixels,
        "selfcheck": session.selfcheck,
        "state": lambda: session.state,
        "frame": lambda: session.frame,
        "part_runs": lambda: session.part_runs,
        "gpu_executors": lambda: session.gpu_executors,
        "statistics": session.statistics,
        "read_texture": lambda: session.read_texture(gpu.textures[-1].name),
        "draw_layer": lambda: session.draw_layer(gpu.layers[0]),
        "activate": session.activate,
        "close": session.close,
    }


def in_another_thread(work: Callable[[], object]) -> None:
    """Call a function in another thread, and fail if it raises."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="other")
    thread.start()
    thread.join()
    assert not failed, failed


def refusals(calls: Mapping[str, Callable[[], object]]) -> dict[str, str]:
    """Return the message of each call's error; "" for a call without one."""
    messages = dict.fromkeys(calls, "")
    for name, call in calls.items():
        try:
            call()
        except GlslInferError as error:
            messages[name] = str(error)
    return messages


BUNDLES = {"one part": tiny_bundle, "several parts": parted_bundle}


def picture_of(bundle: Bundle, seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, bundle.manifest.input.shape, np.uint8)


def test_the_uses_are_all_methods() -> None:
    public = {name for name in vars(Session) if not name.startswith("_")}
    with Session(tiny_bundle(), cache=False) as session:
        assert {name.partition(" ")[0] for name in uses(session, PICTURES[0])} == public


@pytest.mark.parametrize("parts", BUNDLES)
def test_another_thread_can_use_no_session_of_this_one(parts: str) -> None:
    """A session is refused in another thread, before and after it is closed, even while that thread has a current
    session. Its owner can go on."""
    bundle = BUNDLES[parts]()
    pictures = [picture_of(bundle, seed) for seed in range(3)]
    with Session(bundle, cache=False) as session:
        expected = [session.run(picture) for picture in pictures]
        frame = session.run_async(pictures[0])
        calls = uses(session, pictures[0])
        calls["close of the context"] = session.context.close
        if parts == "one part":
            calls |= {"frame.result": frame.result, "frame.done": frame.done}
        own = {"read_texture", "draw_layer"} if parts == "several parts" else set()

        def work() -> None:
            with Session(tiny_bundle(), cache=False) as other:
                before = other.run(PICTURES[1])
                messages = refusals(calls)
                assert {name for name, message in messages.items() if "not to 'other'" not in message} == own
                assert all(messages.values())
                assert np.array_equal(other.run(PICTURES[1]), before)

        in_another_thread(work)
        assert np.array_equal(frame.result(), expected[0])
        assert np.array_equal(session.run(pictures[2]), expected[2])
        calls = uses(session, pictures[0])
    in_another_thread(lambda: all(refusals(calls).values()) or pytest.fail(str(refusals(calls))))


@pytest.mark.parametrize("parts", BUNDLES)
def test_a_closed_session_refuses_methods_that_need_the_gpu(parts: str, context: Context) -> None:
    """After ``close`` a method that needs the GPU is an error, also if the context still exists."""
    bundle = BUNDLES[parts]()
    with Session(bundle, context=context, cache=False) as session:
        session.run(picture_of(bundle, 0))
    calls = uses(session, picture_of(bundle, 0))
    harmless = {"state", "frame", "part_runs", "gpu_executors", "statistics", "close"}
    if parts == "several parts":
        harmless.add("output_values")
    silent = {name for name, message in refusals(calls).items() if not message}
    assert silent <= harmless


@pytest.mark.parametrize("parts", BUNDLES)
@pytest.mark.parametrize("shared", [False, True])
def test_another_session_between_the_steps_of_a_run(parts: str, shared: bool, context: Context) -> None:
    """Each step makes the session's own context and state current again."""
    bundle = BUNDLES[parts]()
    own: dict[str, Context] = {"context": context} if shared else {}
    with Session(bundle, cache=False, **own) as session, Session(tiny_bundle("baked"), cache=False, **own) as other:
        picture = picture_of(bundle, 1)
        expected, expected_of_other = session.run(picture), other.run(PICTURES[2])
        session.run(picture_of(bundle, 2))
        other.run(PICTURES[3])
        session.upload(picture)
        assert np.array_equal(other.run(PICTURES[2]), expected_of_other)
        session.submit()
        assert np.array_equal(other.run(PICTURES[2]), expected_of_other)
        assert np.array_equal(session.read_back(), expected)
        other.activate()
        assert session.output_values()
        assert np.array_equal(session.input_pixels(), picture)


def test_a_session_outlives_its_thread() -> None:
    """After its thread has ended, any thread can use and close a session."""
    sessions: list[Session] = []
    thread = threading.Thread(target=lambda: sessions.append(Session(tiny_bundle(), cache=False)))
    thread.start()
    thread.join()
    sessions[0].close()
    assert sessions[0].context.closed


def expected_logits() -> list[NDArray[np.float32]]:
    with Session(tiny_bundle()) as session:
        return [session.run(picture) for picture in PICTURES]


@pytest.mark.parametrize("how", ["replaced", "overwritten", "truncated", "removed"])
def test_a_model_that_changes_on_disk(tmp_path: Path, how: str) -> None:
    """A session has read all of its file, so only the next start sees a change."""
    path, expected = write_tiny(tmp_path), expected_logits()
    data = path.read_bytes()
    with Session(path) as session:
        first = session.run(PICTURES[0])
        if how == "replaced":
            write(tiny_bundle("baked"), path)
        elif how == "overwritten":
            path.write_bytes(bytes(len(data)))
        elif how == "truncated":
            os.truncate(path, len(data) // 2)
        else:
            path.unlink()
        assert np.array_equal([first, *(session.run(picture) for picture in PICTURES[1:])], expected)
    if how == "replaced":
        with Session(path) as session:
            np.testing.assert_allclose(session.run(PICTURES[0]), expected[0], atol=0.1)
    else:
        with pytest.raises(BundleError, match=f"{path}: "):
            Session(path)


PROCESSES = 10


def test_processes_share_a_cache_and_an_output(tmp_path: Path) -> None:
    """Processes that share a cache and an output write complete files, each from a single process.

    Their process ids are the same, as they can be in containers.
    """
    model, cache, table = write_tiny(tmp_path), tmp_path / "cache", tmp_path / "out.csv"
    folders = []
    for index in range(PROCESSES):
        folders.append(tmp_path / f"pictures-{index}")
        folders[-1].mkdir()
        for child in range(3):
            Image.fromarray(tiny_picture(child)).save(folders[-1] / f"{child}.png")
    table.write_text("old\n")
    start = "import os, sys; os.getpid = lambda: 1; from glsl_infer.cli import main; sys.exit(main())"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", start, "classify", str(folder), "--model", str(model), "--csv", str(table)],
            env={**os.environ, "PYTHONPATH": str(ROOT), "GLSL_INFER_CACHE": str(cache)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for folder in folders
    ]
    contents = set()
    while any(process.poll() is None for process in running):
        contents.add(table.read_bytes())
        time.sleep(0.01)
    errors_of = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * PROCESSES, errors_of
    contents.add(table.read_bytes())
    assert table.read_bytes() != b"old\n"
    for text in contents - {b"old\n"}:
        rows = [line.split(",")[0] for line in text.decode().splitlines()[1:]]
        (folder,) = {Path(row).parent for row in rows}
        assert rows == [str(folder / f"{index}.png") for index in range(3)]
    assert {path.suffix for path in cache.iterdir()} == {".checked", ".passed", ".programs"}
    left = [path.name for path in (*tmp_path.iterdir(), *cache.iterdir()) if path.name.startswith(TEMPORARY)]
    assert left == []
    later = run_python(
        "-m", "glsl_infer", "classify", folders[0] / "0.png", "--model", model, check=True, GLSL_INFER_CACHE=str(cache)
    )
    assert later.stdout.count("%") == len(tiny_bundle().labels)
