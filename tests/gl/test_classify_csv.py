"""glsl-infer classify --csv: many images, some of them bad, in constant memory."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import Capture, refused, run_python
from PIL import Image
from tiny import LABELS, tiny_picture, write_tiny

from glsl_infer.cli import main


def photos(folder: Path, count: int) -> Path:
    """Write 16 different images; all further ones are links to the same files."""
    folder.mkdir()
    for index in range(min(count, 16)):
        Image.fromarray(tiny_picture(index)).save(folder / f"{index:05d}.png")
    for index in range(16, count):
        os.link(folder / f"{index % 16:05d}.png", folder / f"{index:05d}.png")
    return folder


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_row_for_every_picture_and_the_same_numbers_as_json(tmp_path: Path, capsys: Capture) -> None:
    model, folder, out = write_tiny(tmp_path), photos(tmp_path / "photos", 5), tmp_path / "out.csv"
    (folder / "00002.png").write_bytes(b"no picture")
    argv = ["classify", "--model", str(model), "--top", "2", str(folder)]
    assert main([*argv, "--csv", str(out)]) == 2
    printed = capsys.readouterr()
    assert "5 images, 1 cannot be read" in printed.out
    assert printed.err.count("error:") == 1
    result = rows(out)
    assert [Path(row["file"]).name for row in result] == [f"{index:05d}.png" for index in range(5)]
    assert [bool(row["error"]) for row in result] == [False, False, True, False, False]
    assert str(folder) not in result[2]["error"]
    assert result[2]["label_1"] == result[2]["probability_2"] == ""
    assert main([*argv, "--json"]) == 2
    report = json.loads(capsys.readouterr().out)[0]["predictions"]
    assert [result[0]["label_1"], result[0]["label_2"]] == [prediction["label"] for prediction in report]
    assert float(result[0]["probability_1"]) == pytest.approx(report[0]["probability"], abs=1e-6)


def test_no_more_columns_than_labels(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out.csv"
    folder = photos(tmp_path / "photos", 1)
    assert main(["classify", "--model", str(write_tiny(tmp_path)), "--csv", str(out), "--top", "9", str(folder)]) == 0
    assert sum(key.startswith("label_") for key in rows(out)[0]) == len(LABELS)


def test_json_with_csv_is_the_summary(tmp_path: Path, capsys: Capture) -> None:
    folder, out = photos(tmp_path / "photos", 3), tmp_path / "out.csv"
    assert main(["classify", "--json", "--model", str(write_tiny(tmp_path)), "--csv", str(out), str(folder)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["pictures"], report["unreadable"], sum(report["first"].values())) == (3, 0, 3)


def test_refusals_leave_the_old_file(tmp_path: Path, capsys: Capture) -> None:
    folder, out = photos(tmp_path / "photos", 1), tmp_path / "out.csv"
    out.write_text("mine")
    refused(capsys, ["classify", folder, "--csv", out, "--model", tmp_path / "none.glslnn"])
    assert "--window" in refused(capsys, ["classify", folder, "--csv", out, "--window"])
    assert "no such folder" in refused(capsys, ["classify", folder, "--csv", tmp_path / "none" / "out.csv"])
    assert "is a folder" in refused(capsys, ["classify", folder, "--csv", folder, "--model", write_tiny(tmp_path)])
    assert out.read_text() == "mine"


def has_rows(folder: Path) -> bool:
    return any(path.stat().st_size > 1000 for path in folder.glob(".tmp-*-out.csv"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_keeps_the_rows_so_far_and_the_old_file(tmp_path: Path, number: signal.Signals) -> None:
    folder, out = photos(tmp_path / "photos", 3000), tmp_path / "out.csv"
    out.write_text("mine")
    argv = ["classify", "--model", str(write_tiny(tmp_path)), "--csv", str(out), str(folder)]
    process = subprocess.Popen([sys.executable, "-m", "glsl_infer", *argv], stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not has_rows(tmp_path):
        time.sleep(0.01)
    process.send_signal(number)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    partial = tmp_path / "out.csv.partial"
    by_signal = f"interrupted by {number.name}; the rows so far are in {partial}\n"
    assert message == ("interrupted\n" if number == signal.SIGINT else by_signal)
    assert out.read_text() == "mine"
    assert 0 < len(rows(partial)) < 3000
    assert sorted(path.name for path in tmp_path.glob(".tmp-*")) == []


@pytest.mark.exhaustive
def test_nohup_continues_without_its_terminal(tmp_path: Path) -> None:
    folder, out = photos(tmp_path / "photos", 1000), tmp_path / "out.csv"
    argv = ["classify", "--model", str(write_tiny(tmp_path)), "--csv", str(out), str(folder)]
    process = subprocess.Popen(
        ["nohup", sys.executable, "-m", "glsl_infer", *argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None and not has_rows(tmp_path):
        time.sleep(0.01)
    process.send_signal(signal.SIGHUP)
    assert process.wait(60) == 0
    assert len(rows(out)) == 1000


HANGS = """
import ctypes, pathlib, sys
from glsl_infer.cli.table_file import open_table
with open_table(pathlib.Path(sys.argv[1]), ["file"]) as table:
    table.write(["a.png"])
    print("hangs", flush=True)
    mutex = ctypes.create_string_buffer(256)
    for _ in range(2):  # as a driver that does not come back: no signal ends this wait
        ctypes.CDLL(None).pthread_mutex_lock(mutex)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a mutex of zeros is unlocked on Linux")
def test_a_driver_that_hangs_is_ended_and_the_rows_are_kept(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", HANGS, str(tmp_path / "out.csv")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "hangs\n"
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(60) == 128 + signal.SIGTERM
        finally:
            process.kill()
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv.partial"]
    assert len(rows(tmp_path / "out.csv.partial")) == 1


@pytest.mark.parametrize("name", ["out.csv", "out.csv.partial"])
def test_a_pipe_is_refused(tmp_path: Path, capsys: Capture, name: str) -> None:
    os.mkfifo(tmp_path / name)
    folder = photos(tmp_path / "photos", 1)
    assert f"{name}: is a pipe" in refused(capsys, ["classify", folder, "--csv", tmp_path / "out.csv"])
    assert (tmp_path / name).is_fifo()


PEAKS = """
import resource, sys
from glsl_infer.cli import classify, main, progress
def watched(items, unit, name):
    for index, item in enumerate(items):
        if index in (300, len(items) - 1):
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
        yield item
progress.bar = watched
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux")
def test_memory_does_not_grow_with_the_number_of_pictures(tmp_path: Path) -> None:
    folder, out = photos(tmp_path / "photos", 3000), tmp_path / "out.csv"
    argv = ["classify", "--model", str(write_tiny(tmp_path)), "--csv", str(out), str(folder)]
    done = run_python("-c", PEAKS, *argv, check=True)
    first_peak, last_peak = (int(line) for line in done.stderr.split())
    assert len(rows(out)) == 3000
    assert last_peak - first_peak < 2048  # KiB, for 2,700 images
