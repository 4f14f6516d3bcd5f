"""glsl-infer run: files of one or several inputs and outputs have exactly the values of a session."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import image_models
import numpy as np
import pytest
from command_line import Capture, refused
from image_models import SIZE
from numpy.typing import NDArray
from PIL import Image
from preprocessing_images import noise, saved
from several import several_bundle, several_inputs
from tiny import LABELS, tiny_picture, write_tiny

import glsl_infer
from glsl_infer import bundle as bundles
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
    "bundle",
    [
        image_models.filtered(),
        image_models.filtered(low=(-1.0, 0.0, 2.0), high=(1.0, 1.0, -1.0)),
        image_models.doubled(),
        image_models.halved(),
        image_models.filtered(1, low=(-1.0,), high=(1.0,)),
    ],
    ids=["same-size", "ranges", "doubled", "halved", "grey"],
)
def test_the_image_file_equals_the_session_output(
    bundle: Bundle, picture: Path, tmp_path: Path, capsys: Capture
) -> None:
    run(image_models.write_bundle(bundle, tmp_path), picture, "-o", tmp_path / "out.png")
    with Session(bundle) as session:
        values = session.run(preprocess.load(picture, SIZE))
    expected = images.to_picture(values, bundle)
    np.testing.assert_array_equal(pixels(tmp_path / "out.png"), expected)
    assert len(np.unique(expected)) > 10
    assert capsys.readouterr() == (f"{tmp_path / 'out.png'}: {'x'.join(map(str, values.shape))}\n", "")


def test_numbers_as_an_array(picture: Path, tmp_path: Path) -> None:
    bundle = image_models.filtered(5)
    run(image_models.write_bundle(bundle, tmp_path), picture, "-o", tmp_path / "out.npy")
    with Session(bundle) as session:
        expected = session.run(preprocess.load(picture, SIZE))
    array = np.load(tmp_path / "out.npy")
    assert array.dtype == np.float32
    np.testing.assert_array_equal(array, expected)


def test_json_of_an_image(picture: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out.png"
    run(image_models.write_bundle(image_models.filtered(1), tmp_path), picture, "-o", out, "--json")
    results = {"file": str(picture), "output": [SIZE, SIZE, 1], "written": str(out)}
    assert json.loads(capsys.readouterr().out) == results


# Images of other sizes -----------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "height"), [(31, 40), (12, 12), (12, 13), (5, 30), (3, 2)])
def test_tiles_of_a_whole_picture_have_no_seams(width: int, height: int, tmp_path: Path) -> None:
    picture = saved(tmp_path, Image.fromarray(noise(width, height)), "in.png")
    bundle = image_models.doubled()
    model = image_models.write_bundle(bundle, tmp_path)
    for overlap in (1, 4):
        run(model, picture, "--whole", "--overlap", overlap, "-o", tmp_path / f"{overlap}.png")
    assert images.overlap_of(bundle) == (1, 1), "this model looks at its neighbours"
    assert pixels(tmp_path / "1.png").shape == (2 * height, 2 * width, 3)
    np.testing.assert_array_equal(pixels(tmp_path / "1.png"), pixels(tmp_path / "4.png"))
    if (width, height) == (SIZE, SIZE):
        with Session(bundle) as session:
            expected = images.to_picture(session.run(noise(width, height)), bundle)
        np.testing.assert_array_equal(pixels(tmp_path / "1.png"), expected)


def test_a_whole_picture_is_upright_and_in_srgb(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = saved(tmp_path, Image.fromarray(noise(20, 14)), "turned.png", exif=exif)
    plain = saved(tmp_path, preprocess.open_image(turned), "plain.png")
    model = image_models.write_bundle(image_models.filtered(), tmp_path)
    for picture in (turned, plain):
        run(model, picture, "--whole", "--overlap", 2, "-o", picture.with_suffix(".bmp"))
    assert pixels(tmp_path / "turned.bmp").shape == (20, 14, 3)
    np.testing.assert_array_equal(pixels(tmp_path / "turned.bmp"), pixels(tmp_path / "plain.bmp"))


def test_run_whole_equals_the_command(picture: Path, tmp_path: Path) -> None:
    bundle = image_models.filtered()
    run(image_models.write_bundle(bundle, tmp_path), picture, "--whole", "--overlap", 3, "-o", tmp_path / "out.png")
    run(image_models.write_bundle(bundle, tmp_path), picture, "--whole", "--overlap", 3, "-o", tmp_path / "out.npy")
    tile_counts = []
    with Session(bundle) as session:
        result = images.run_whole(
            session, picture, overlap=3, watch=lambda tiles, message: tile_counts.append((len(tiles), message)) or tiles
        )
    np.testing.assert_array_equal(pixels(tmp_path / "out.png"), result)
    np.testing.assert_array_equal(images.to_picture(np.load(tmp_path / "out.npy"), bundle), result)
    assert tile_counts == [(5 * 6, "tiles")]


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
    ("network", "options", "message"),
    [
        (image_models.filtered(), [], "returns an image of 12x12x3; name a file for it, such as -o OUT.png"),
        (image_models.filtered(), ["-o", "out.txt"], "out.txt: no image format that can be written has this suffix"),
        (image_models.filtered(), ["-o", "no/out.png"], "no/out.png: no such folder: no"),
        (image_models.filtered(), ["-o", "out.png", "--overlap", "4"], "--overlap needs --whole"),
        (image_models.filtered(), ["-o", "out.png", "--whole", "--overlap", "6"], "an overlap of 6 pixels; 0 to 5 are"),
        (image_models.filtered(), ["-o", "out.png", "--whole", "--overlap", "-1"], "an overlap of -1 pixels"),
        (image_models.filtered(2), ["-o", "out.png"], "has 2 channels; an image has 1 or 3; -o OUT.npy writes"),
        (image_models.halved(), ["-o", "out.png", "--whole"], "the model makes 6 x 6 pixels of 12 x 12"),
        (None, ["-o", "out.png"], "ends in a vector of 3 values, which is not an image; -o OUT.npy writes its values"),
        (None, ["--whole"], "only a model that returns an image runs on tiles (--whole); this one returns a vector"),
    ],
)
def test_invalid_options_are_refused(
    network: Bundle | None,
    options: list[str],
    message: str,
    picture: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    monkeypatch.chdir(tmp_path)
    model = write_tiny(tmp_path) if network is None else image_models.write_bundle(network, tmp_path)
    before = set(tmp_path.iterdir())
    assert message in refused(capsys, ["run", model, picture, *options])
    assert set(tmp_path.iterdir()) == before


def test_files_that_are_not_there(picture: Path, tmp_path: Path, capsys: Capture) -> None:
    model, out = image_models.write_bundle(image_models.filtered(), tmp_path), tmp_path / "out.png"
    assert "no.png: no such file" in refused(capsys, ["run", model, tmp_path / "no.png", "-o", out])
    (tmp_path / "empty").mkdir()
    assert "no images in this folder" in refused(capsys, ["run", model, tmp_path / "empty", "-o", out])
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
            (actual,) = result if words[0] == "classify" else [result]
            assert actual["predictions"] == [asdict(each) for each in expected[:count]]
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
    assert f"{photos / 'b.png'}: not an image" in output.err
    rows = list(csv.DictReader(table.read_text("utf-8").splitlines()))
    assert [Path(row["file"]).name for row in rows] == ["a.jpg", "a.png", "b.png", "c.png"]
    assert [bool(row["error"]) for row in rows] == [False, False, True, False]
    assert all(row["label_1"] in LABELS for row in rows if not row["error"])
    assert main(["run", str(model), str(photos), "--json"]) == 2
    assert [Path(each["file"]).name for each in json.loads(capsys.readouterr().out)] == ["a.jpg", "a.png", "c.png"]


def test_a_folder_through_an_image_model(photos: Path, tmp_path: Path, capsys: Capture) -> None:
    model, out = image_models.write_bundle(image_models.doubled(), tmp_path), photos / "out"
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
    assert "name a folder for the files: --out-dir DIR" in refused(capsys, ["run", model, photos])


@pytest.fixture
def several(tmp_path: Path) -> Path:
    bundles.write(several_bundle("several"), tmp_path / "several.glslnn")
    return tmp_path / "several.glslnn"


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    bundles.write(several_bundle("numbers"), tmp_path / "numbers.glslnn")
    return tmp_path / "numbers.glslnn"


@pytest.fixture
def two_inputs_picture(tmp_path: Path) -> Path:
    return saved(tmp_path, Image.fromarray(noise(300, 200)), "in.png")


def expected(model: Path, arrays_by_name: dict[str, Any]) -> dict[str, Any]:
    with Session(model) as session:
        return session.run(arrays_by_name)


def check(path: Path, expected: dict[str, Any]) -> None:
    with np.load(path) as arrays:
        assert list(arrays) == list(expected)
        for name, array in expected.items():
            np.testing.assert_array_equal(arrays[name], array)


# Inputs --------------------------------------------------------------------------------------------


def test_a_picture_and_numbers(several: Path, two_inputs_picture: Path, tmp_path: Path, capsys: Capture) -> None:
    vector = [0.5, -1, 2.25, 0, 0, 3, -4]
    (tmp_path / "numbers.json").write_text(json.dumps(vector))
    run(
        several,
        "--input",
        f"image={two_inputs_picture}",
        "--input",
        f"numbers={tmp_path / 'numbers.json'}",
        "-o",
        tmp_path / "o.npz",
    )
    pixels = preprocess.load_for(two_inputs_picture, bundles.read(several).manifest.inputs[0])
    check(tmp_path / "o.npz", expected(several, {"image": pixels, "numbers": np.array(vector)}))
    assert capsys.readouterr().out == f"{tmp_path / 'o.npz'}: label 3, mask 36x64, boxes 328x6\n"


def test_numbers_of_every_kind_of_file(numbers: Path, tmp_path: Path) -> None:
    inputs = several_inputs(several_bundle("numbers").graph, 3)
    np.save(tmp_path / "heat.npy", inputs["heat"])
    (tmp_path / "depth.json").write_text(json.dumps(inputs["depth"].tolist()))
    (tmp_path / "speed.csv").write_text("".join(f"{number}\n" for number in inputs["speed"].tolist()))
    files = [("heat", "npy"), ("depth", "json"), ("speed", "csv")]
    run(numbers, *(f"--input={name}={tmp_path / name}.{suffix}" for name, suffix in files), "-o", tmp_path / "out.npz")
    check(tmp_path / "out.npz", expected(numbers, inputs))
    np.savez(tmp_path / "all.npz", **inputs)
    run(numbers, "--input", tmp_path / "all.npz", "-o", tmp_path / "again.npz")
    check(tmp_path / "again.npz", expected(numbers, inputs))


@pytest.mark.parametrize(
    ("arguments", "wording"),
    [
        ([], "give an IMAGE, or --input NAME=FILE for each input of the model"),
        (["PICTURE"], "has the inputs 'image' (picture, 144x256x1), 'numbers' (numbers, 7); give --input NAME=FILE"),
        (["PICTURE", "--input", "image=PICTURE"], "give IMAGE or --input, not both"),
        (["--input", "image=PICTURE"], "input 'numbers' is missing; give --input numbers=FILE"),
        (["--input", "sound=PICTURE"], "--input sound=PICTURE; give NAME=FILE once for each input"),
        (["--input", "PICTURE"], "give NAME=FILE once for each input"),
        (["--input", "image=PICTURE", "--input", "image=PICTURE"], "give NAME=FILE once for each input"),
        (["--input", "image=PICTURE", "--input", "numbers=PICTURE"], "reads numbers; give a *.npy, *.json or *.csv"),
        (["--input", "image=PICTURE", "--input", "numbers=BAD.json"], "does not contain numbers"),
        (["--input", "image=PICTURE", "--input", "numbers=FEW.csv"], "reads numbers of shape (7,); float64 (1, 2) was"),
        (["--input", "image=PICTURE", "--input", "numbers=NONE.npy"], "cannot be read (No such file or directory)"),
        (["--input", "BAD.npz"], "no *.npz file of NumPy"),
        (["--input", "numbers=FEW.csv", "--input", "image=PICTURE", "--whole"], "--whole needs an image"),
    ],
)
def test_inputs_that_do_not_fit(
    several: Path, two_inputs_picture: Path, tmp_path: Path, capsys: Capture, arguments: list[str], wording: str
) -> None:
    (tmp_path / "BAD.json").write_text('["x"]')
    (tmp_path / "BAD.npz").write_text("no zip")
    (tmp_path / "FEW.csv").write_text("1,2\n")
    words = [
        word.replace("PICTURE", str(two_inputs_picture))
        .replace("BAD.", f"{tmp_path}/BAD.")
        .replace("FEW.", f"{tmp_path}/FEW.")
        .replace("NONE.", f"{tmp_path}/NONE.")
        for word in arguments
    ]
    message = refused(capsys, ["run", several, *words, "-o", tmp_path / "out.npz"])
    assert wording.replace("PICTURE;", f"{two_inputs_picture};") in message
    assert not (tmp_path / "out.npz").exists()


# Outputs -------------------------------------------------------------------------------------------


def given_files(folder: Path, name: str) -> tuple[list[str], dict[str, Any]]:
    inputs = several_inputs(several_bundle(name).graph, 1)
    np.savez(folder / "all.npz", **inputs)
    return ["--input", str(folder / "all.npz")], inputs


def test_json_has_every_output(several: Path, tmp_path: Path) -> None:
    arguments, inputs = given_files(tmp_path, "several")
    run(several, *arguments, "-o", tmp_path / "out.json")
    report = json.loads((tmp_path / "out.json").read_text())
    for name, array in expected(several, inputs).items():
        assert report[name]["shape"] == list(array.shape)
        np.testing.assert_array_equal(np.array(report[name]["numbers"], np.float32), array)


def test_the_only_mask_becomes_a_picture(several: Path, tmp_path: Path, capsys: Capture) -> None:
    arguments, inputs = given_files(tmp_path, "several")
    run(several, *arguments, "-o", tmp_path / "mask.png")
    with Image.open(tmp_path / "mask.png") as mask:
        np.testing.assert_array_equal(np.asarray(mask), expected(several, inputs)["mask"].astype(np.uint8))
    assert capsys.readouterr().out == f"{tmp_path / 'mask.png'}: mask 36x64\n"


def test_json_on_the_screen(several: Path, tmp_path: Path, capsys: Capture) -> None:
    arguments, inputs = given_files(tmp_path, "several")
    run(several, *arguments, "-o", tmp_path / "out.npz", "--json")
    printed = json.loads(capsys.readouterr().out)
    assert printed["inputs"] == arguments[1:]
    assert printed["written"] == str(tmp_path / "out.npz")
    assert printed["outputs"]["mask"] == {"shape": [36, 64], "purpose": "mask"}
    label = printed["outputs"]["label"]
    assert (label["shape"], label["purpose"]) == ([3], "classes")
    predictions = {prediction["label"]: prediction["probability"] for prediction in label["predictions"]}
    values = expected(several, inputs)["label"]
    assert list(predictions) == [f"class {index}" for index in np.argsort(-values)]
    np.testing.assert_allclose(list(predictions.values()), np.sort(values)[::-1])


@pytest.mark.parametrize(
    ("name", "out", "message"),
    [
        ("several", None, "returns 'mask' of 36x64; name a file for it, such as -o OUT.npz"),
        ("several", "out.npy", "a *.npy file has one output, and the model has 3; give -o OUT.npz"),
        ("alpha", "out.png", "an image file has one image or mask, and the model returns 0; give -o OUT.npz"),
    ],
)
def test_outputs_that_do_not_fit(tmp_path: Path, capsys: Capture, name: str, out: str | None, message: str) -> None:
    model = tmp_path / "model.glslnn"
    bundles.write(several_bundle(name), model)
    arguments, _ = given_files(tmp_path, name)
    assert f"{model}: {message}" in refused(
        capsys, ["run", model, *arguments, *(["-o", tmp_path / out] if out else [])]
    )


# Other commands ------------------------------------------------------------------------------------


def test_selfcheck_inspect_and_benchmark(several: Path, capsys: Capture) -> None:
    assert main(["selfcheck", str(several)]) == 0
    output = capsys.readouterr().out
    assert all(f"whole frame, {name}: off by 0" in output for name in ("mask", "boxes"))
    assert main(["inspect", str(several)]) == 0
    output = capsys.readouterr().out
    assert "image 144x256x1, center-crop/area-average" in output
    assert "numbers 7, numbers" in output
    assert "label 3, classes, layer 'label', then softmax, 3 labels" in output
    assert main(["benchmark", str(several), "--runs", "1", "--warm-up", "0"]) == 0


@pytest.mark.parametrize(
    "command", [["classify", "PICTURE", "--model", "MODEL"], ["inspect", "MODEL", "--layers", "PICTURE"]]
)
def test_commands_that_need_one_picture(
    several: Path, two_inputs_picture: Path, capsys: Capture, command: list[str]
) -> None:
    words = [{"PICTURE": str(two_inputs_picture), "MODEL": str(several)}.get(word, word) for word in command]
    message = refused(capsys, words)
    assert "inputs are 'image' (picture), 'numbers' (numbers); this needs a model whose only" in message
