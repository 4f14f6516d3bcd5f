"""``glsl-infer run`` on a real driver: the image files have exactly the values of a session."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict
from pathlib import Path

import image_models
import numpy as np
import pytest
from command_line import Capture, refused
from image_models import SIZE
from numpy.typing import NDArray
from pictures_made import noise, saved
from PIL import Image
from tiny import LABELS, tiny_picture, write_tiny

import glsl_infer
from glsl_infer.bundle import Bundle
from glsl_infer.cli import main
from glsl_infer.runtime import images
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.session import Session


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    return saved(tmp_path, Image.fromarray(noise(31, 40)), "in.png")


def run(*arguments: object) -> None:
    assert main(["run", *map(str, arguments)]) == 0


def pixels(path: Path) -> NDArray[np.uint8]:
    with Image.open(path) as opened:
        return np.asarray(opened)


# Image models --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "made",
    [
        image_models.filtered(),
        image_models.filtered(low=(-1.0, 0.0, 2.0), high=(1.0, 1.0, -1.0)),
        image_models.doubled(),
        image_models.halved(),
        image_models.filtered(1, low=(-1.0,), high=(1.0,)),
    ],
    ids=["same-size", "ranges", "doubled", "halved", "grey"],
)
def test_the_picture_is_what_the_session_computes(made: Bundle, picture: Path, tmp_path: Path, capsys: Capture) -> None:
    run(image_models.written(made, tmp_path), picture, "-o", tmp_path / "out.png")
    with Session(made) as session:
        numbers = session.run(preprocess.load(picture, SIZE))
    expected = images.to_picture(numbers, made)
    np.testing.assert_array_equal(pixels(tmp_path / "out.png"), expected)
    assert len(np.unique(expected)) > 10
    assert capsys.readouterr() == (f"{tmp_path / 'out.png'}: {'x'.join(map(str, numbers.shape))}\n", "")


def test_numbers_as_an_array(picture: Path, tmp_path: Path) -> None:
    made = image_models.filtered(5)
    run(image_models.written(made, tmp_path), picture, "-o", tmp_path / "out.npy")
    with Session(made) as session:
        expected = session.run(preprocess.load(picture, SIZE))
    written = np.load(tmp_path / "out.npy")
    assert written.dtype == np.float32
    np.testing.assert_array_equal(written, expected)


def test_json_of_an_image(picture: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out.png"
    run(image_models.written(image_models.filtered(1), tmp_path), picture, "-o", out, "--json")
    found = {"file": str(picture), "output": [SIZE, SIZE, 1], "written": str(out)}
    assert json.loads(capsys.readouterr().out) == found


# Images of other sizes -----------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "height"), [(31, 40), (12, 12), (12, 13), (5, 30), (3, 2)])
def test_a_whole_picture_without_seams(width: int, height: int, tmp_path: Path) -> None:
    picture = saved(tmp_path, Image.fromarray(noise(width, height)), "in.png")
    made = image_models.doubled()
    model = image_models.written(made, tmp_path)
    for overlap in (1, 4):
        run(model, picture, "--whole", "--overlap", overlap, "-o", tmp_path / f"{overlap}.png")
    assert images.overlap_of(made) == (1, 1), "this model looks at its neighbours"
    assert pixels(tmp_path / "1.png").shape == (2 * height, 2 * width, 3)
    np.testing.assert_array_equal(pixels(tmp_path / "1.png"), pixels(tmp_path / "4.png"))
    if (width, height) == (SIZE, SIZE):
        with Session(made) as session:
            expected = images.to_picture(session.run(noise(width, height)), made)
        np.testing.assert_array_equal(pixels(tmp_path / "1.png"), expected)


def test_a_whole_picture_is_upright_and_in_srgb(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = saved(tmp_path, Image.fromarray(noise(20, 14)), "turned.png", exif=exif)
    plain = saved(tmp_path, preprocess.open_image(turned), "plain.png")
    model = image_models.written(image_models.filtered(), tmp_path)
    for one in (turned, plain):
        run(model, one, "--whole", "--overlap", 2, "-o", one.with_suffix(".bmp"))
    assert pixels(tmp_path / "turned.bmp").shape == (20, 14, 3)
    np.testing.assert_array_equal(pixels(tmp_path / "turned.bmp"), pixels(tmp_path / "plain.bmp"))


def test_the_function_is_what_the_command_does(picture: Path, tmp_path: Path) -> None:
    made = image_models.filtered()
    run(image_models.written(made, tmp_path), picture, "--whole", "--overlap", 3, "-o", tmp_path / "out.png")
    run(image_models.written(made, tmp_path), picture, "--whole", "--overlap", 3, "-o", tmp_path / "out.npy")
    seen = []
    with Session(made) as session:
        result = images.run_whole(
            session, picture, overlap=3, watch=lambda tiles, what: seen.append((len(tiles), what)) or tiles
        )
    np.testing.assert_array_equal(pixels(tmp_path / "out.png"), result)
    np.testing.assert_array_equal(images.to_picture(np.load(tmp_path / "out.npy"), made), result)
    assert seen == [(5 * 6, "tiles")]


# Vectors -------------------------------------------------------------------------------------------


def test_values_with_their_labels(tmp_path: Path, capsys: Capture) -> None:
    model, picture = write_tiny(tmp_path), saved(tmp_path, Image.fromarray(tiny_picture(3)))
    with Session(model) as session:
        values = session.run(tiny_picture(3))
    run(model, picture, "--raw")
    lines = [line.rsplit(": ", 1) for line in capsys.readouterr().out.splitlines()]
    assert [label for label, _ in lines] == list(LABELS)
    np.testing.assert_allclose([float(value) for _, value in lines], values, rtol=1e-5)
    run(model, picture, "--raw", "--json")
    assert json.loads(capsys.readouterr().out) == {
        "file": str(picture),
        "output": [len(LABELS)],
        "values": values.astype(float).tolist(),
        "labels": list(LABELS),
    }
    run(model, picture, "-o", tmp_path / "out.npy", "--context", "surfaceless")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), values)
    assert capsys.readouterr().out.endswith("3 (logits; --softmax writes probabilities)\n")
    run(model, picture, "-o", tmp_path / "out.npy", "--softmax")
    assert np.load(tmp_path / "out.npy").sum() == pytest.approx(1.0)
    assert "logits" not in capsys.readouterr().out


# Errors --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "options", "said"),
    [
        (image_models.filtered(), [], "makes an image of 12x12x3; say with -o where to, such as -o OUT.png"),
        (image_models.filtered(), ["-o", "out.txt"], "out.txt: no picture format that can be written has this suffix"),
        (image_models.filtered(), ["-o", "no/out.png"], "no/out.png: no such folder: no"),
        (image_models.filtered(), ["-o", "out.png", "--overlap", "4"], "--overlap needs --whole"),
        (image_models.filtered(), ["-o", "out.png", "--whole", "--overlap", "6"], "an overlap of 6 pixels; 0 to 5 are"),
        (image_models.filtered(), ["-o", "out.png", "--whole", "--overlap", "-1"], "an overlap of -1 pixels"),
        (image_models.filtered(2), ["-o", "out.png"], "has 2 channels; a picture has 1 or 3; -o OUT.npy writes"),
        (image_models.halved(), ["-o", "out.png", "--whole"], "the model makes 6 x 6 pixels of 12 x 12"),
        (
            None,
            ["-o", "out.png"],
            "ends in a vector of 3 values, which is not a picture; -o OUT.npy writes its numbers",
        ),
        (None, ["--whole"], "tiles can be put together where a model ends in an image; this one ends in a vector"),
    ],
)
def test_refusals(
    made: Bundle | None,
    options: list[str],
    said: str,
    picture: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    monkeypatch.chdir(tmp_path)
    model = write_tiny(tmp_path) if made is None else image_models.written(made, tmp_path)
    before = set(tmp_path.iterdir())
    assert said in refused(capsys, ["run", model, picture, *options])
    assert set(tmp_path.iterdir()) == before


def test_files_that_are_not_there(picture: Path, tmp_path: Path, capsys: Capture) -> None:
    model, out = image_models.written(image_models.filtered(), tmp_path), tmp_path / "out.png"
    assert "no.png: no such file" in refused(capsys, ["run", model, tmp_path / "no.png", "-o", out])
    (tmp_path / "empty").mkdir()
    assert "a folder without pictures" in refused(capsys, ["run", model, tmp_path / "empty", "-o", out])
    assert "no.glslnn: no such file" in refused(capsys, ["run", tmp_path / "no.glslnn", picture, "-o", out])
    assert f"{tmp_path}: " in refused(capsys, ["run", model, picture, "-o", tmp_path])
    (tmp_path / "folder.png").mkdir()
    assert "is a folder; name a file" in refused(capsys, ["run", model, picture, "-o", tmp_path / "folder.png"])
    assert not out.exists()


# Classes -------------------------------------------------------------------------------------------


def test_a_classifier_answers_as_classify_and_python_do(tmp_path: Path, capsys: Capture) -> None:
    model, picture = write_tiny(tmp_path), saved(tmp_path, Image.fromarray(tiny_picture(3)), "in.png")
    with glsl_infer.Classifier(model) as classifier:
        expected = classifier.classify(picture)
    for options, count in (([], len(LABELS)), (["--top", "2"], 2)):
        for words in (["classify", picture, "--model", model], ["run", model, picture]):
            assert main([*map(str, words), *options]) == 0
            assert capsys.readouterr().out.splitlines() == [str(each) for each in expected[:count]]
            assert main([*map(str, words), *options, "--json"]) == 0
            result = json.loads(capsys.readouterr().out)
            (found,) = result if words[0] == "classify" else [result]
            assert found["predictions"] == [asdict(each) for each in expected[:count]]
    run(model, picture, "--raw", "--top", 1)
    assert capsys.readouterr().out.rpartition(": ")[0] == expected[0].label


# Many images ---------------------------------------------------------------------------------------


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Three images, one of them in a subfolder, and an unreadable file."""
    folder = tmp_path / "photos"
    (folder / "deep").mkdir(parents=True)
    for name, seed in (("a.png", 3), ("a.jpg", 4), ("deep/c.png", 5)):
        Image.fromarray(tiny_picture(seed)).save(folder / name)
    (folder / "b.png").write_bytes(b"not an image")
    (folder / "._a.png").write_bytes(b"of macOS")
    return folder


def test_a_folder_through_a_classifier(photos: Path, tmp_path: Path, capsys: Capture) -> None:
    model, table = write_tiny(tmp_path), tmp_path / "out.csv"
    assert main(["run", str(model), str(photos), "--csv", str(table), "--top", "1"]) == 2
    output = capsys.readouterr()
    assert output.out == f"4 images: 1 cannot be read; {table}\n"
    assert f"{photos / 'b.png'}: not a picture" in output.err
    rows = list(csv.DictReader(table.read_text("utf-8").splitlines()))
    assert [Path(row["file"]).name for row in rows] == ["a.jpg", "a.png", "b.png", "c.png"]
    assert [bool(row["error"]) for row in rows] == [False, False, True, False]
    assert all(row["label_1"] in LABELS for row in rows if not row["error"])
    assert main(["run", str(model), str(photos), "--json"]) == 2
    assert [Path(each["file"]).name for each in json.loads(capsys.readouterr().out)] == ["a.jpg", "a.png", "c.png"]


def test_a_folder_through_an_image_model(photos: Path, tmp_path: Path, capsys: Capture) -> None:
    model, out = image_models.written(image_models.doubled(), tmp_path), photos / "out"
    (photos / "b.png").unlink()
    for _ in range(2):  # results of the first run are not images of the second
        run(model, photos, "--out-dir", out)
        assert capsys.readouterr().out == f"3 images: 0 cannot be read; 3 files in {out}\n"
    names = sorted(path.relative_to(out).as_posix() for path in out.rglob("*.png"))
    assert names == ["a.png", "a.png.png", "deep/c.png"]
    run(model, photos / "a.png", "-o", tmp_path / "one.png")
    np.testing.assert_array_equal(pixels(out / "a.png.png"), pixels(tmp_path / "one.png"))
    capsys.readouterr()
    assert "has none; give --out-dir" in refused(capsys, ["run", model, photos, "--csv", tmp_path / "out.csv"])
    assert "say with -o where to" in refused(capsys, ["run", model, photos])
