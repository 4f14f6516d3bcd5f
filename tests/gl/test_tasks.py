"""Tasks on a real driver: networks with known answers find red squares in images of any size."""

from __future__ import annotations

import csv
import json
import os
import shlex
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from command_line import Capture, refused
from PIL import Image
from red_squares import folder_of_tasks, picture
from screen import virtual_screen
from task_cases import WRONG_TASKS
from tiny import write_tiny

from glsl_infer.cli import main
from glsl_infer.errors import InputError
from glsl_infer.gl.context import Context
from glsl_infer.tasks import Detector, Labeller, Landmarker, Mask, Segmenter, open_task


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of_tasks(tmp_path_factory.mktemp("squares"))


@pytest.fixture(scope="module")
def detector(folder: Path, context: Context) -> Iterator[Detector]:
    with Detector(folder / "squares.json", context=context) as detector:
        yield detector


@pytest.fixture
def sides(folder: Path, context: Context) -> Iterator[Landmarker]:
    with Landmarker(folder / "sides.json", context=context) as landmarker:
        yield landmarker


def opened(path: Path) -> Image.Image:
    with Image.open(path) as image:
        image.load()
        return image


def test_boxes_and_points_are_pixels_of_a_letterboxed_picture(detector: Detector) -> None:
    # 64 x 32 pixels in 32 x 32: half the size, with 8 black rows above and below.
    detections = detector(picture(64, 32, (12, 12, 8), (52, 20, 8)))
    assert len(detections) == 2
    for detection, middle in zip(sorted(detections, key=lambda detection: detection.box), ((12, 12), (52, 20))):
        assert detection.score > 0.99
        assert detection.box == pytest.approx((middle[0] - 4, middle[1] - 4, middle[0] + 4, middle[1] + 4), abs=0.3)
        assert detection.points == pytest.approx(
            np.array([[middle[0] - 4, middle[1]], [middle[0] + 4, middle[1]]]), abs=0.3
        )
    assert detections.as_json()["found"][0]["points"].keys() == {"left", "right"}


@pytest.mark.parametrize("size", [(1, 1), (1, 400), (400, 1), (33, 7)])
def test_empty_images_of_any_size_have_no_detections(detector: Detector, size: tuple[int, int]) -> None:
    detections = detector(np.zeros((size[1], size[0], 3), np.uint8))
    assert not detections and detections.size == size
    assert detections.draw(Image.new("RGB", size)).size == size


def test_small_objects_are_found_in_parts_of_the_image(folder: Path, context: Context, detector: Detector) -> None:
    # Each of 3 x 3 parts is 128 wide, so a cell of the network is 16 pixels; for the entire image it is 40.
    middles = [(24, 24), (120, 56), (296, 296), (152, 296), (184, 184)]
    pixels = picture(320, 320, *((x, y, 16) for x, y in middles))
    assert len(detector(pixels)) == 0
    with Detector(folder / "squares.json", tiles=3, context=context) as tiled:
        result = tiled(pixels)
    assert sorted(
        (round(detection.points[:, 0].mean()), round(detection.points[:, 1].mean())) for detection in result
    ) == sorted(middles)
    assert all(detection.size == (320, 320) for detection in result)
    with pytest.raises(InputError, match="tiles=9; give 1 to 8"):
        Detector(folder / "squares.json", tiles=9, context=context)


def test_a_detection_in_every_cell_is_drawn(detector: Detector) -> None:
    detections = detector(picture(32, 32, (16, 16, 32)))
    assert len(detections) == 64
    assert detections.draw(picture(32, 32)).size == (32, 32)


def test_objects_at_the_edge_and_beyond(detector: Detector, sides: Landmarker) -> None:
    # Half of each square is outside. The visible half is found, its box and crop extend beyond the edge, and both are
    # drawn.
    pixels = picture(128, 128, (0, 48, 32), (128, 80, 32), (64, 0, 32))
    detections = detector(pixels)
    assert len(detections) == 6 and all(detection.score > 0.99 for detection in detections)  # two cells of each
    assert min(detection.box[0] for detection in detections) == pytest.approx(0, abs=1)
    drawn = sides(pixels)
    assert len(drawn) > 0 and any(item.cut.corners.min() < 0 for item in drawn)
    assert drawn.draw(pixels).size == detections.draw(pixels).size == (128, 128)
    assert all(np.isfinite(item.points).all() for item in sides.follow(pixels))


def test_results_are_drawn_on_a_copy_of_the_image(detector: Detector) -> None:
    pixels = picture(128, 128, (40, 40, 16))
    before = pixels.copy()
    (detection,) = detector(pixels)
    drawn = np.asarray(detection.draw(pixels))
    assert (pixels == before).all() and (drawn != before).any(axis=2).sum() > 100
    with pytest.raises(InputError, match="128 x 128"):
        detection.draw(Image.new("RGB", (64, 64)))


def test_landmarks_of_each_object_are_found_in_a_crop_around_it(sides: Landmarker) -> None:
    result = sides(picture(128, 128, (24, 24, 16), (88, 104, 16)))
    assert len(result) == 2
    for item, middle in zip(sorted(result, key=lambda item: item.points[0, 0]), ((24, 24), (88, 104))):
        assert item.points == pytest.approx(np.array([[middle[0] - 8, middle[1]], [middle[0] + 8, middle[1]]]), abs=1.5)
        assert item.score > 0.9 and item.attributes["green"] == pytest.approx(0, abs=0.01)
        assert item.cut.width == pytest.approx(32, abs=1)


def test_an_object_is_followed_without_the_detector_until_it_is_lost(sides: Landmarker) -> None:
    # The detector's cells miss a square between them; following it does not.
    frames = [picture(128, 128, (24 + 2 * step, 24 + 3 * step, 16)) for step in range(12)]
    sides_found = [sides.follow(frame) for frame in frames]
    assert all(len(result) == 1 for result in sides_found)
    assert sides.detections == 1
    for step, (item,) in enumerate(sides_found):
        assert item.points.mean(axis=0) == pytest.approx((24 + 2 * step, 24 + 3 * step), abs=1.5)
    assert not sides.follow(picture(128, 128)) and sides.detections == 2
    assert not sides.follow(picture(128, 128)) and sides.detections == 3
    assert len(sides.follow(picture(128, 128, (104, 104, 16)))) == 1
    assert len(sides.follow(picture(64, 64, (12, 12, 8)))) == 1  # another size: the state is reset
    assert sides.detections == 5


def test_no_more_objects_than_requested(folder: Path, context: Context) -> None:
    with Landmarker(folder / "sides.json", context=context, most=1) as landmarker:
        assert len(landmarker(picture(128, 128, (24, 24, 16), (88, 104, 16)))) == 1
    with pytest.raises(InputError, match="most=0"):
        Landmarker(folder / "sides.json", most=0)


def test_a_mask_cuts_out_and_is_laid_over_backgrounds(folder: Path, context: Context, tmp_path: Path) -> None:
    pixels = picture(96, 64, (30, 30, 36))
    with Segmenter(folder / "mask.json", context=context) as segmenter:
        mask = segmenter(pixels)
        assert not segmenter(np.zeros((5, 3, 3), np.uint8)).present
    assert mask.values.shape == (64, 96) and mask.present
    assert mask.share == pytest.approx(36 * 36 / (96 * 64), abs=0.02)
    cut = np.asarray(mask.cut_out(pixels))
    assert cut[30, 30].tolist() == [255, 0, 0, 255] and cut[5, 90, 3] == 0
    blue = np.asarray(mask.over(pixels, "#0000ff"))
    assert blue[5, 90].tolist() == [0, 0, 255] and blue[30, 30].tolist() == [255, 0, 0]
    assert np.asarray(mask.over(pixels, "blur"))[5, 90].tolist() == [0, 0, 0]
    Image.new("RGB", (7, 500), (0, 200, 0)).save(tmp_path / "ground.png")
    assert np.asarray(mask.over(pixels, tmp_path / "ground.png"))[5, 90].tolist() == [0, 200, 0]
    for background, problem in (
        ("no-colour", "'no-colour' is not a colour; "),
        ("gren", "'gren' is not a colour (did you mean green?); "),
        ("beach.jpg", "beach.jpg: no such file; "),
        ("photos/beach", "photos/beach: no such file; "),
    ):
        with pytest.raises(InputError) as caught:
            mask.over(pixels, background)
        assert str(caught.value).startswith(f"{problem}as the background, give blur, a colour")


def test_classification_is_a_task_too(tmp_path: Path, context: Context) -> None:
    write_tiny(tmp_path)
    (tmp_path / "own.json").write_text('{"task": "classification", "model": "tiny.glslnn", "top": 2}')
    with open_task(tmp_path / "own.json", context=context) as task:
        assert isinstance(task, Labeller)
        labels = task(picture(60, 40, (20, 20, 10)))
    assert len(labels.predictions) == 2 and labels.as_json()["predictions"][0]["probability"] <= 1
    assert labels.draw(picture(60, 40)).size == (60, 40)


@pytest.mark.parametrize(("task", "change", "message"), WRONG_TASKS)
def test_invalid_task_entries_are_named(
    folder: Path, context: Context, tmp_path: Path, task: dict[str, object], change: dict[str, object], message: str
) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "wrong.json").write_text(json.dumps({**task, **change}), "utf-8")
    with pytest.raises(InputError, match=message):
        open_task(tmp_path / "wrong.json", context=context)


def test_commands_find_print_and_draw(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    photo = tmp_path / "photo.png"
    Image.fromarray(picture(128, 128, (24, 24, 16))).save(photo)
    detect = ["detect", str(photo), "--task", str(folder / "squares.json")]
    assert main([*detect, "-o", str(tmp_path / "found.png"), "--json"]) == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert report["found"][0]["box"] == pytest.approx([16, 16, 32, 32], abs=1)
    assert opened(tmp_path / "found.png").size == (128, 128)
    assert main(detect) == 0 and "1 found" in capsys.readouterr().out
    assert main(["landmarks", str(photo), "--task", str(folder / "sides.json")]) == 0
    assert "1 found: 2 points" in capsys.readouterr().out
    segment = ["segment", str(photo), "--task", str(folder / "mask.json")]
    assert main([*segment, "-o", str(tmp_path / "cut.png")]) == 0
    assert opened(tmp_path / "cut.png").mode == "RGBA"
    capsys.readouterr()
    assert "no transparency" in refused(capsys, [*segment, "-o", tmp_path / "cut.jpg"])
    assert "needs -o FILE or --out-dir DIR" in refused(capsys, [*segment, "--background", "blur"])
    assert "is a task for detection" in refused(capsys, [*segment[:2], "--task", folder / "squares.json"])
    assert "with 2 images, give --out-dir DIR" in refused(
        capsys, [*detect[:1], photo, *detect[1:], "-o", tmp_path / "found.png"]
    )
    assert "give one of" in refused(capsys, ["detect", photo, "--task", "noses"])
    model = write_tiny(tmp_path)
    message = refused(capsys, ["detect", photo, model])
    assert message.startswith(f"error: task 'faces', with the model {model}: no output ")
    assert "; leave the model out to use that of the task, or give a task for this model" in message


@pytest.mark.parametrize(
    ("command", "task", "columns"),
    [
        ("detect", "squares", ["label", "score", "left", "top", "right", "bottom"]),
        ("landmarks", "sides", ["score", "left", "top", "right", "bottom", "x0", "y0", "x1", "y1"]),
        ("segment", "mask", ["score", "share"]),
    ],
)
def test_folders_of_images(
    folder: Path, tmp_path: Path, capsys: Capture, command: str, task: str, columns: list[str]
) -> None:
    photos, out, table = tmp_path / "photos", tmp_path / "out", tmp_path / "out.csv"
    (photos / "__MACOSX").mkdir(parents=True)
    Image.fromarray(picture(128, 128, (24, 24, 16))).save(photos / "found.png")
    Image.fromarray(picture(128, 128)).save(photos / "nothing.png")
    (photos / "wrong.jpg").write_bytes(b"not an image")
    (photos / "__MACOSX/._found.png").write_bytes(b"of macOS")
    words = [command, str(photos), "--task", str(folder / f"{task}.json"), "--out-dir", str(out), "--csv", str(table)]
    assert main(words) == 2
    assert capsys.readouterr().out == f"3 images: something found in 1, 1 cannot be read; {table}, 1 file in {out}\n"
    assert [path.name for path in out.iterdir()] == ["found.png"]
    rows = list(csv.DictReader(table.read_text("utf-8").splitlines()))
    assert list(rows[0])[:3] == ["file", "error", "found"]
    assert set(columns) <= set(rows[0])
    assert [(Path(row["file"]).name, row["found"]) for row in rows] == [
        ("found.png", "1"), ("nothing.png", "0"), ("wrong.jpg", "")
    ]  # fmt: skip
    assert rows[0]["score"] and not rows[1]["score"] and rows[2]["error"].startswith("not an image")
    (photos / "wrong.jpg").unlink()
    assert main([*words, "--always"]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["found.png", "nothing.png"]


def test_an_empty_result_is_printed_and_not_drawn(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    photo, out = tmp_path / "photo.png", tmp_path / "out.png"
    Image.fromarray(picture(128, 128)).save(photo)
    for command, task in (("detect", "squares"), ("landmarks", "sides"), ("segment", "mask")):
        words = [command, str(photo), "--task", str(folder / f"{task}.json"), "-o", str(out)]
        assert main(words) == 0
        message = f"{photo}: nothing found; {out} is not written (--always writes it)\n"
        assert capsys.readouterr().out == message and not out.exists()
        assert main([*words, "--always"]) == 0
        assert capsys.readouterr().out == f"{photo}: nothing found\n" and opened(out).size == (128, 128)
        out.unlink()


def test_an_uncertain_mask_is_absent() -> None:
    mask = np.zeros((10, 10), np.float32)
    mask[2:8, 2:8] = 0.7
    geometry = ((0.0, 0.0, 10.0, 10.0), (0, 0, 10, 10), (0.3, 0.7), (10, 10))
    doubted = Mask(mask.copy(), *geometry)
    assert doubted.share > 0.2 and doubted.score == 0.0 and not doubted.present
    mask[2:6, 2:8] = 0.95
    certain = Mask(mask, *geometry)
    assert certain.score == pytest.approx(24 / 36) and certain.present
    assert certain.as_json() == {"score": 0.6667, "share": pytest.approx(certain.share, abs=1e-4), "present": True}


def test_a_mask_missing_in_the_mirrored_image_is_doubted() -> None:
    probabilities, mirrored = np.zeros((2, 10, 10), np.float32)
    probabilities[2:8, 2:8] = mirrored[2:8, 2:5] = 1.0
    geometry = ((0.0, 0.0, 10.0, 10.0), (0, 0, 10, 10), (0.3, 0.7), (10, 10))
    mask = Mask(probabilities, *geometry, both_ways=(probabilities + mirrored) / 2)
    assert mask.score == 0.5 and mask.present
    assert mask.share == Mask(probabilities, *geometry).share
    mirrored[2, 2:5] = 0.0
    assert not Mask(probabilities, *geometry, both_ways=(probabilities + mirrored) / 2).present


def test_the_mirrored_image_is_read_for_images_and_not_for_films(folder: Path, context: Context) -> None:
    with Segmenter(folder / "mask.json", context=context) as segmenter:
        pixels = picture(128, 96, (30, 40, 32))
        mask = segmenter(pixels)
        assert mask.present and mask.both_ways is not None
        assert np.abs(mask.both_ways - mask.part).max() < 0.1, "it is mirrored back"
        assert segmenter.follow(pixels).both_ways is None
        assert segmenter(picture(128, 96)).both_ways is None  # nothing there


def film(folder: Path) -> Path:
    """An empty scene, a moving square, and an empty scene; one frame in between is dark."""
    folder.mkdir()
    for index in range(30):
        is_visible = 5 <= index < 20 and index != 12
        squares = [(16 + 4 * (index - 5), 16 + 3 * (index - 5), 32)] if is_visible else []
        Image.fromarray(picture(128, 96, *squares)).save(folder / f"{index:02}.png")
    return folder


def test_a_camera_publishes_presence_once(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    came = tmp_path / "came"
    program = f"import os; open({str(came)!r}, 'a').write(os.environ['GLSL_INFER_SNAPSHOT'])"
    command = shlex.join([sys.executable, "-c", program])
    words = ["camera", "--source", str(film(tmp_path / "film")), "--task", str(folder / "mask.json"), "--json"]
    assert main([*words, "--on-appear", command, "--snapshot", str(tmp_path / "shots"), "--leave-after", "4"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["frame"], line["event"]) for line in lines if "event" in line] == [(7, "appeared"), (23, "left")]
    (shot,) = (tmp_path / "shots").iterdir()
    assert opened(shot).size == (128, 96)
    for _ in range(600):
        if came.is_file() and came.read_text():
            break
        subprocess.run(["sleep", "0.1"], check=True)
    assert came.read_text() == str(shot.absolute())


def test_a_camera_prints_the_share_of_a_mask(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    words = ["camera", "--source", str(film(tmp_path / "film")), "--task", str(folder / "mask.json")]
    assert main([*words, "--no-selfcheck"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(" % of the image" in line for line in lines) and any(": nothing" in line for line in lines)


def test_a_camera_shows_its_frames_to_a_browser(folder: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "glsl_infer", "camera", "--source", str(film(tmp_path / "film"))]
    words += ["--task", str(folder / "sides.json"), "--serve", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None and process.stdout is not None
    try:
        address = process.stderr.readline().split()[-1]
        page = urllib.request.urlopen(address, timeout=60).read().decode()
        assert "/frames.mjpeg" in page
        with urllib.request.urlopen(f"{address}frames.mjpeg", timeout=60) as stream:
            assert b"--frame" in stream.readline()
            assert stream.readline().strip() == b"Content-Type: image/jpeg"
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--serve", "80"], "--serve needs --task"),
        (["--task", "faces", "--serve", "70000"], "--serve 70000"),
        (["--task", "selfie", "--background", "blur"], "needs --window or --serve"),
        (["--task", "selfie", "--window", "--background", "no-colour"], "give blur, a colour"),
        (["--task", "faces", "--appear-after", "0"], "--appear-after 0"),
        (["--task", "faces", "--on-appear", ""], "the command is empty"),
        (["--task", "faces", "--on-appear", "'"], "is not a command"),
    ],
)
def test_invalid_camera_options_are_refused(words: list[str], message: str, tmp_path: Path, capsys: Capture) -> None:
    assert message in refused(capsys, ["camera", "--source", str(film(tmp_path / "film")), *words])


@pytest.mark.parametrize("look", [None, "blur", "#0000ff"])
def test_a_mask_in_a_window_equals_that_of_the_cpu(folder: Path, tmp_path: Path, look: str | None) -> None:
    frames, screenshot = tmp_path / "film", tmp_path / "window.png"
    frames.mkdir()
    pixels = picture(640, 480, (200, 240, 240))
    pixels = np.where(pixels[..., :1] > 0, pixels, np.uint8([90, 90, 90]))
    Image.fromarray(pixels).save(frames / "0.png")
    words = [sys.executable, "-m", "glsl_infer", "camera", "--source", str(frames), "--window"]
    words += ["--task", str(folder / "mask.json"), "--screenshot", str(screenshot)]
    words += [] if look is None else ["--background", look]
    with virtual_screen("800x600x24") as screen:
        subprocess.run(words, env={**os.environ, "DISPLAY": screen}, check=True, timeout=300)
    values = np.asarray(opened(screenshot)).astype(int)
    with Segmenter(folder / "mask.json") as segmenter:
        mask = segmenter(pixels)
        expected = np.asarray(mask.draw(pixels) if look is None else mask.over(pixels, look)).astype(int)
    assert values.shape == expected.shape
    error = np.abs(values - expected)
    assert error.mean() < (3 if look == "blur" else 1)  # the blur is a box filter there, and a Gaussian here
    inside, outside = (slice(180, 300), slice(150, 250)), (slice(20, 80), slice(500, 600))
    assert error[inside].max() <= 3 and error[outside].max() <= 3


def test_a_task_in_a_window(folder: Path, tmp_path: Path) -> None:
    screenshot = tmp_path / "window.png"
    words = [sys.executable, "-m", "glsl_infer", "camera", "--source", str(film(tmp_path / "film")), "--window"]
    words += ["--task", str(folder / "sides.json"), "--frames", "10", "--screenshot", str(screenshot)]
    with virtual_screen("800x600x24") as screen:
        subprocess.run(words, env={**os.environ, "DISPLAY": screen}, check=True, timeout=300)
    pixels = np.asarray(opened(screenshot)).astype(int)
    assert (pixels[..., 0] > 200).sum() > 1000  # the red square
    assert ((pixels[..., 0] > 200) & (pixels[..., 1] > 150) & (pixels[..., 2] < 80)).any()  # the line on it
