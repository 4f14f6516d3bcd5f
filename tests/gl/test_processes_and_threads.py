"""Threads with a session each, forks of a process that draws, and a model file that is replaced meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from tiny import tiny_bundle, tiny_picture, write_tiny

from glsl_infer.bundle import write
from glsl_infer.errors import BundleError, ContextError
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
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS, str(write_tiny(tmp_path))],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
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


def test_another_thread_can_use_no_session_of_this_one() -> None:
    """A session is refused in another thread, even while that thread has a current session; its owner can go on."""
    expected = expected_logits()
    errors: list[str] = []
    with Session(tiny_bundle(), cache=False) as session:
        session.run(PICTURES[0])
        frame = session.run_async(PICTURES[0])
        uses = (
            lambda: session.run(PICTURES[0]),
            lambda: session.run_async(PICTURES[0]),
            frame.result,
            session.submit,
            session.read_back,
            session.output_values,
            lambda: list(session.layers(PICTURES[0])),
            lambda: next(session.stream([PICTURES[0]])),
            lambda: session.upload(PICTURES[0]),
            lambda: session.saturation(PICTURES[0]),
            lambda: session.read_texture(session.bundle.manifest.textures[0].name),
            lambda: session.draw_layer("stem"),
            session.input_pixels,
            session.selfcheck,
            session.statistics,
            session.activate,
            lambda: session.state,
            lambda: session.frame,
            lambda: session.part_runs,
            session.close,
            session.context.close,
        )

        def work() -> None:
            with Session(tiny_bundle(), cache=False) as own:
                own.run(PICTURES[1])
                for use in uses:
                    try:
                        use()
                    except ContextError as error:
                        errors.append(str(error))
                assert np.array_equal(own.run(PICTURES[1]), expected[1])

        thread = threading.Thread(target=work, name="other")
        thread.start()
        thread.join()
        assert [("not to 'other'" in error) for error in errors] == [True] * len(uses)
        assert np.array_equal(frame.result(), expected[0])
        assert np.array_equal(session.run(PICTURES[2]), expected[2])


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
        for number in range(3):
            Image.fromarray(tiny_picture(number)).save(folders[-1] / f"{number}.png")
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
    seen = set()
    while any(process.poll() is None for process in running):
        seen.add(table.read_bytes())
        time.sleep(0.01)
    said = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * PROCESSES, said
    seen.add(table.read_bytes())
    assert table.read_bytes() != b"old\n"
    for text in seen - {b"old\n"}:
        rows = [line.split(",")[0] for line in text.decode().splitlines()[1:]]
        (folder,) = {Path(row).parent for row in rows}
        assert rows == [str(folder / f"{index}.png") for index in range(3)]
    assert {path.suffix for path in cache.iterdir()} == {".passed", ".programs", ".shaders"}
    left = [path.name for path in (*tmp_path.iterdir(), *cache.iterdir()) if path.name.startswith(TEMPORARY)]
    assert left == []
    again = subprocess.run(
        [sys.executable, "-m", "glsl_infer", "classify", str(folders[0] / "0.png"), "--model", str(model)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "GLSL_INFER_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert again.stdout.count("%") == len(tiny_bundle().labels)
