"""Commands on models with several inputs and outputs: files as inputs and outputs, and error messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Capture, refused
from pictures_made import noise, saved
from PIL import Image
from several import several_bundle, several_inputs

from glsl_infer import bundle as bundles
from glsl_infer.cli import main
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.session import Session


@pytest.fixture
def several(tmp_path: Path) -> Path:
    bundles.write(several_bundle("several"), tmp_path / "several.glslnn")
    return tmp_path / "several.glslnn"


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    bundles.write(several_bundle("numbers"), tmp_path / "numbers.glslnn")
    return tmp_path / "numbers.glslnn"


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    return saved(tmp_path, Image.fromarray(noise(300, 200)), "in.png")


def run(*arguments: object) -> None:
    assert main(["run", *map(str, arguments)]) == 0


def expected(model: Path, given: dict[str, Any]) -> dict[str, Any]:
    with Session(model) as session:
        return session.run(given)


def check(path: Path, wanted: dict[str, Any]) -> None:
    with np.load(path) as arrays:
        assert list(arrays) == list(wanted)
        for name, array in wanted.items():
            np.testing.assert_array_equal(arrays[name], array)


# Inputs --------------------------------------------------------------------------------------------


def test_a_picture_and_numbers(several: Path, picture: Path, tmp_path: Path, capsys: Capture) -> None:
    vector = [0.5, -1, 2.25, 0, 0, 3, -4]
    (tmp_path / "numbers.json").write_text(json.dumps(vector))
    run(
        several,
        "--input",
        f"image={picture}",
        "--input",
        f"numbers={tmp_path / 'numbers.json'}",
        "-o",
        tmp_path / "o.npz",
    )
    pixels = preprocess.load_for(picture, bundles.read(several).manifest.inputs[0])
    check(tmp_path / "o.npz", expected(several, {"image": pixels, "numbers": np.array(vector)}))
    assert capsys.readouterr().out == f"{tmp_path / 'o.npz'}: label 3, mask 36x64, boxes 328x6\n"


def test_numbers_of_every_kind_of_file(numbers: Path, tmp_path: Path) -> None:
    given = several_inputs(several_bundle("numbers").graph, 3)
    np.save(tmp_path / "heat.npy", given["heat"])
    (tmp_path / "depth.json").write_text(json.dumps(given["depth"].tolist()))
    (tmp_path / "speed.csv").write_text("".join(f"{number}\n" for number in given["speed"].tolist()))
    files = [("heat", "npy"), ("depth", "json"), ("speed", "csv")]
    run(numbers, *(f"--input={name}={tmp_path / name}.{suffix}" for name, suffix in files), "-o", tmp_path / "out.npz")
    check(tmp_path / "out.npz", expected(numbers, given))
    np.savez(tmp_path / "all.npz", **given)
    run(numbers, "--input", tmp_path / "all.npz", "-o", tmp_path / "again.npz")
    check(tmp_path / "again.npz", expected(numbers, given))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give an IMAGE, or --input NAME=FILE for each input of the model"),
        (["PICTURE"], "has the inputs 'image' (picture, 144x256x1), 'numbers' (numbers, 7); give --input NAME=FILE"),
        (["PICTURE", "--input", "image=PICTURE"], "give IMAGE or --input, not both"),
        (["--input", "image=PICTURE"], "no file for input 'numbers'"),
        (["--input", "sound=PICTURE"], "--input sound=PICTURE; give NAME=FILE once for each input"),
        (["--input", "PICTURE"], "give NAME=FILE once for each input"),
        (["--input", "image=PICTURE", "--input", "image=PICTURE"], "give NAME=FILE once for each input"),
        (["--input", "image=PICTURE", "--input", "numbers=PICTURE"], "reads numbers; give a *.npy, *.json or *.csv"),
        (["--input", "image=PICTURE", "--input", "numbers=BAD.json"], "holds no numbers"),
        (["--input", "image=PICTURE", "--input", "numbers=FEW.csv"], "reads numbers of shape (7,); float64 (1, 2) was"),
        (["--input", "image=PICTURE", "--input", "numbers=NONE.npy"], "cannot be read (No such file or directory)"),
        (["--input", "BAD.npz"], "no *.npz file of NumPy"),
        (["--input", "numbers=FEW.csv", "--input", "image=PICTURE", "--whole"], "--whole needs an image"),
    ],
)
def test_inputs_that_do_not_fit(
    several: Path, picture: Path, tmp_path: Path, capsys: Capture, arguments: list[str], said: str
) -> None:
    (tmp_path / "BAD.json").write_text('["x"]')
    (tmp_path / "BAD.npz").write_text("no zip")
    (tmp_path / "FEW.csv").write_text("1,2\n")
    words = [
        word.replace("PICTURE", str(picture))
        .replace("BAD.", f"{tmp_path}/BAD.")
        .replace("FEW.", f"{tmp_path}/FEW.")
        .replace("NONE.", f"{tmp_path}/NONE.")
        for word in arguments
    ]
    message = refused(capsys, ["run", several, *words, "-o", tmp_path / "out.npz"])
    assert said.replace("PICTURE;", f"{picture};") in message
    assert not (tmp_path / "out.npz").exists()


# Outputs -------------------------------------------------------------------------------------------


def given_files(folder: Path, name: str) -> tuple[list[str], dict[str, Any]]:
    given = several_inputs(several_bundle(name).graph, 1)
    np.savez(folder / "all.npz", **given)
    return ["--input", str(folder / "all.npz")], given


def test_json_has_every_output(several: Path, tmp_path: Path) -> None:
    arguments, given = given_files(tmp_path, "several")
    run(several, *arguments, "-o", tmp_path / "out.json")
    written = json.loads((tmp_path / "out.json").read_text())
    for name, array in expected(several, given).items():
        assert written[name]["shape"] == list(array.shape)
        np.testing.assert_array_equal(np.array(written[name]["numbers"], np.float32), array)


def test_the_only_mask_becomes_a_picture(several: Path, tmp_path: Path, capsys: Capture) -> None:
    arguments, given = given_files(tmp_path, "several")
    run(several, *arguments, "-o", tmp_path / "mask.png")
    with Image.open(tmp_path / "mask.png") as mask:
        np.testing.assert_array_equal(np.asarray(mask), expected(several, given)["mask"].astype(np.uint8))
    assert capsys.readouterr().out == f"{tmp_path / 'mask.png'}: mask 36x64\n"


def test_json_on_the_screen(several: Path, tmp_path: Path, capsys: Capture) -> None:
    arguments, given = given_files(tmp_path, "several")
    run(several, *arguments, "-o", tmp_path / "out.npz", "--json")
    printed = json.loads(capsys.readouterr().out)
    assert printed["inputs"] == arguments[1:]
    assert printed["written"] == str(tmp_path / "out.npz")
    assert printed["outputs"]["mask"] == {"shape": [36, 64], "purpose": "mask"}
    label = printed["outputs"]["label"]
    assert (label["shape"], label["purpose"]) == ([3], "classes")
    predictions = {one["label"]: one["probability"] for one in label["predictions"]}
    values = expected(several, given)["label"]
    assert list(predictions) == [f"class {index}" for index in np.argsort(-values)]
    np.testing.assert_allclose(list(predictions.values()), np.sort(values)[::-1])


@pytest.mark.parametrize(
    ("name", "out", "said"),
    [
        ("several", None, "makes 'mask' of 36x64; say with -o where to, such as -o OUT.npz"),
        ("several", "out.npy", "3 outputs do not go into one array; -o OUT.npz writes all of them"),
        ("alpha", "out.png", "0 outputs are images or masks, and a picture file holds 1; give -o OUT.npz"),
    ],
)
def test_outputs_that_do_not_fit(tmp_path: Path, capsys: Capture, name: str, out: str | None, said: str) -> None:
    model = tmp_path / "model.glslnn"
    bundles.write(several_bundle(name), model)
    arguments, _ = given_files(tmp_path, name)
    assert f"{model}: {said}" in refused(capsys, ["run", model, *arguments, *(["-o", tmp_path / out] if out else [])])


# Other commands ------------------------------------------------------------------------------------


def test_selfcheck_inspect_and_benchmark(several: Path, capsys: Capture) -> None:
    assert main(["selfcheck", str(several)]) == 0
    said = capsys.readouterr().out
    assert all(f"whole frame, {name}: off by 0" in said for name in ("mask", "boxes"))
    assert main(["inspect", str(several)]) == 0
    said = capsys.readouterr().out
    assert "image 144x256x1, center-crop/area-average" in said
    assert "numbers 7, numbers" in said
    assert "label 3, classes, layer 'label', then softmax, 3 labels" in said
    assert main(["benchmark", str(several), "--runs", "1", "--warm-up", "0"]) == 0


@pytest.mark.parametrize(
    "command", [["classify", "PICTURE", "--model", "MODEL"], ["inspect", "MODEL", "--layers", "PICTURE"]]
)
def test_commands_that_need_one_picture(several: Path, picture: Path, capsys: Capture, command: list[str]) -> None:
    words = [{"PICTURE": str(picture), "MODEL": str(several)}.get(word, word) for word in command]
    message = refused(capsys, words)
    assert "inputs are 'image' (picture), 'numbers' (numbers); this needs a model with one picture" in message
