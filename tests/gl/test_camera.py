"""glsl-infer camera: folders and films, in a window and as lines, ended by signals and by closed pipes."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import IO

import av
import numpy as np
import pytest
from command_line import Capture, refused
from faulty_driver import SkipsDraws, first_layer_of
from PIL import Image
from tiny import tiny_bundle, write_tiny

from glsl_infer.cli import main
from glsl_infer.runtime.none_of_these import NONE


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_tiny(tmp_path)


def noise(seed: int) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (24, 32, 3), np.uint8))


def folder(path: Path, count: int) -> Path:
    path.mkdir()
    for index in range(count):
        noise(index).save(path / f"{index:05d}.png")
    return path


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 4000 images, too many for these tests to reach the end."""
    film = folder(tmp_path_factory.mktemp("endless") / "f", 16)
    for index in range(16, 4000):
        os.link(film / f"{index % 16:05d}.png", film / f"{index:05d}.png")
    return film


def film(path: Path, count: int) -> Path:
    first, *later_frames = (noise(index) for index in range(count))
    first.save(path, save_all=True, append_images=later_frames, lossless=True, duration=40)
    return path


def lines(capsys: Capture) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_each_frame_of_a_film_is_a_line_with_the_labels_of_classify(
    model: Path, tmp_path: Path, capsys: Capture
) -> None:
    path = film(tmp_path / "film.webp", 5)
    assert main(["camera", "--source", str(path), "--model", str(model), "--headless", "--json"]) == 0
    result = lines(capsys)
    assert [line["frame"] for line in result] == list(range(5))
    assert all(set(line) == {"frame", "seconds", "fps", "predictions"} for line in result)
    stills = folder(tmp_path / "stills", 5)
    assert main(["camera", "--source", str(stills), "--model", str(model), "--json"]) == 0
    assert [line["predictions"] for line in lines(capsys)] == [line["predictions"] for line in result]


def test_a_compressed_film(model: Path, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "film.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 32, 24, "yuv420p"
        for index in range(6):
            container.mux(stream.encode(av.VideoFrame.from_image(noise(index))))
        container.mux(stream.encode())
    assert main(["camera", "--source", str(path), "--model", str(model), "--json"]) == 0
    assert [line["frame"] for line in lines(capsys)] == list(range(6))


@pytest.mark.parametrize(("threshold", "none"), [("0", False), ("1", True)])
def test_frames_below_the_threshold_are_none_of_these(
    threshold: str, none: bool, model: Path, tmp_path: Path, capsys: Capture
) -> None:
    source = folder(tmp_path / "f", 2)
    words = ["--model", str(model), "--json", "--top", "1", "--threshold", threshold]
    assert main(["camera", "--source", str(source), *words]) == 0
    watched = [line["predictions"][0]["label"] for line in lines(capsys)]
    assert main(["classify", str(source), *words]) == 0
    assert [load["predictions"][0]["label"] for load in json.loads(capsys.readouterr().out)] == watched
    assert [label == NONE for label in watched] == [none] * 2


def test_every_skips_frames_and_frames_ends_the_run(model: Path, tmp_path: Path, capsys: Capture) -> None:
    argv = ["camera", "--source", str(folder(tmp_path / "f", 9)), "--model", str(model), "--json", "--every", "2"]
    assert main(argv) == 0
    assert [line["frame"] for line in lines(capsys)] == [0, 2, 4, 6, 8]
    assert main([*argv, "--frames", "3"]) == 0
    assert [line["frame"] for line in lines(capsys)] == [0, 2, 4]


def test_a_bad_picture_is_passed_over(model: Path, tmp_path: Path, capsys: Capture) -> None:
    source = folder(tmp_path / "f", 3)
    (source / "00001.png").write_bytes(b"no picture")
    assert main(["camera", "--source", str(source), "--model", str(model)]) == 0
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 2
    assert printed.err.count("warning:") == 1


def test_only_frames_without_a_file_of_their_own_have_a_rate(model: Path, tmp_path: Path, capsys: Capture) -> None:
    rated = []
    for source in (film(tmp_path / "film.gif", 3), folder(tmp_path / "f", 3)):
        assert main(["camera", "--source", str(source), "--model", str(model)]) == 0
        rated.append(["frames a second" in line for line in capsys.readouterr().out.splitlines()])
    assert rated == [[False, True, True], [False, False, False]]


def test_a_truncated_film_ends_with_an_error(model: Path, tmp_path: Path, capsys: Capture) -> None:
    path = film(tmp_path / "film.gif", 6)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    code = main(["camera", "--source", str(path), "--model", str(model), "--json"])
    printed = capsys.readouterr()
    assert code == 2
    assert f"error: {path}: " in printed.err
    assert "Traceback" not in printed.err


def test_a_wrong_driver_is_refused_before_the_first_line(
    model: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, text = first_layer_of(tiny_bundle(), "stem")
    monkeypatch.setattr("glsl_infer.gl.context.gles2", lambda: SkipsDraws(text))
    assert main(["camera", "--source", str(folder(tmp_path / "f", 2)), "--model", str(model)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"error: layer '{first}'" in printed.err


def test_the_window_shows_the_last_frame(model: Path, tmp_path: Path, screen: str, capsys: Capture) -> None:
    source, shot = tmp_path / "f", tmp_path / "shot.png"
    source.mkdir()
    Image.new("RGB", (64, 48), (255, 0, 0)).save(source / "0.png")
    Image.new("RGB", (64, 48), (0, 255, 0)).save(source / "1.png")
    argv = ["camera", "--source", str(source), "--model", str(model), "--window", "--screenshot", str(shot)]
    assert main(argv) == 0
    pixels = np.asarray(Image.open(shot).convert("RGB")).reshape(-1, 3)
    assert (pixels == (0, 255, 0)).all(axis=1).mean() > 0.3
    assert not (pixels == (255, 0, 0)).all(axis=1).any()


SET_PIPE_SIZE = 1031
"""``fcntl.F_SETPIPE_SZ``, which Python has since 3.10."""


def wait_until_full(pipe: IO[bytes], capacity: int, line: int) -> None:
    """Wait until a pipe has less space than two lines and its writer blocks."""
    deadline = time.monotonic() + 300.0
    while capacity - int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder) >= 2 * line:
        assert time.monotonic() < deadline, "nothing more is written"
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("reads", [True, False])
def test_signals_end_the_command_even_with_a_full_pipe(
    number: signal.Signals, reads: bool, model: Path, endless: Path
) -> None:
    argv = ["camera", "--source", str(endless), "--model", str(model), "--json", "--top", "3"]
    process = subprocess.Popen(
        [sys.executable, "-m", "glsl_infer", *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ
    )
    assert process.stdout is not None
    capacity = fcntl.fcntl(process.stdout, SET_PIPE_SIZE, 4096)
    first = process.stdout.readline()
    if not reads:
        wait_until_full(process.stdout, capacity, len(first))
    process.send_signal(number)
    if not reads:
        process.wait(timeout=300)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, b"")
    complete_lines = [json.loads(line) for line in (first + out).splitlines(keepends=True) if line.endswith(b"\n")]
    assert 0 < len(complete_lines) < 4000


def test_a_closed_pipe_ends_the_command(model: Path, endless: Path) -> None:
    argv = ["camera", "--source", str(endless), "--model", str(model), "--json", "--top", "3"]
    process = subprocess.Popen(
        [sys.executable, "-m", "glsl_infer", *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=300) == 0
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


def test_impossible_arguments_are_refused(model: Path, tmp_path: Path, capsys: Capture) -> None:
    source = folder(tmp_path / "f", 1)
    assert "/dev/videoN" in refused(capsys, ["camera", "--source", tmp_path / "nothing"])
    assert "--every 0" in refused(capsys, ["camera", "--source", source, "--every", "0"])
    assert "--window and --json" in refused(capsys, ["camera", "--source", source, "--window", "--json"])
    assert "needs --window" in refused(capsys, ["camera", "--source", source, "--screenshot", "a.png"])
    (tmp_path / "empty").mkdir()
    assert "no images in this folder" in refused(capsys, ["camera", "--source", tmp_path / "empty"])
