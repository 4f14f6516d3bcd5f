"""A card from real evaluations of a tiny network, its images, and the cards in models/."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from colour_classifier import LABELS, save_colours
from PIL import Image

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import build
from glsl_infer.importers.keras import load
from training import evaluate, model_card, scores
from training.cards import pictures
from training.cards.sources import CardFiles
from training.model_card import MODELS, problems

NAME = "colours-x22-17"
WORDS = {
    "title": "three colours",
    "description": "Tells *colours* apart.",
    "network": "X22 with one stage",
    "data": "Generated noise.",
    "licence": "None needed.",
    "intended_use": "Tests.",
    "limits": ["No other colours."],
    "machine": "this one",
    "train": ["python make.py", "python train.py --seed 5"],
}
HISTORY = [
    {"epoch": 1, "loss": 2.0, "accuracy": 0.25, "seconds": 90.0},
    {
        "epoch": 2,
        "loss": 1.0,
        "accuracy": 0.5,
        "val_loss": 0.8,
        "val_accuracy": 0.75,
        "val_accuracy_average": 0.8125,
        "seconds": 90.0,
    },
    {
        "epoch": 3,
        "loss": 0.5,
        "accuracy": 0.75,
        "val_loss": 0.9,
        "val_accuracy": 0.75,
        "seconds": 90.0,
        "seconds_val": 9.0,
    },
]


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")  # JSON is valid YAML


@pytest.fixture(scope="module")
def trained(image_folder, tmp_path_factory):
    """Return a folder with models/, run/, test.json (float, reference and GPU) and val.json (float alone)."""
    root = tmp_path_factory.mktemp("card")
    data = root / "data"
    for split in ("val", "test"):
        shutil.copytree(image_folder / split, data / split)
    shutil.copy(image_folder / "train/green/green0.png", data / "test/blue/mistaken.png")
    (data / "labels.txt").write_text("".join(f"{label}\n" for label in LABELS), "utf-8")
    keras = save_colours(image_folder, root / f"models/{NAME}.keras")
    bundle = keras.with_suffix(".glslnn")
    bundles.write(build(load(keras), LABELS)[0], bundle)
    for split, more in (("test", ["--gpu", "--reference", "--bundle", bundle]), ("val", [])):
        argv = [keras, "--data", data / split, "--json", root / f"{split}.json", *more]
        assert evaluate.main([str(word) for word in argv]) == 0
    write_json(root / "run/history.json", HISTORY)
    write_json(root / "run/config.json", {"seed": "5"})
    (root / "run/recipe.yaml").write_text("epochs: 3\n# a remark\n")
    write_json(root / f"models/cards/{NAME}.yaml", WORDS)
    return root


@pytest.fixture
def root(trained, tmp_path):
    """Return a copy that a test can change."""
    return shutil.copytree(trained, tmp_path / "root")


def run(root, *argv):
    return model_card.main([NAME, "--models", str(root / "models"), *map(str, argv)])


def write(root):
    assert run(root, "--run", root / "run", "--evaluation", root / "test.json", "--evaluation", root / "val.json") == 0
    return (root / f"models/{NAME}.md").read_text("utf-8")


def printed(capsys, root, *argv, code=2):
    assert run(root, *argv) == code
    output = capsys.readouterr()
    assert output.out == ""
    return output.err


def test_a_card_has_the_measured_scores(root):
    text = write(root)
    for words in ("# colours-x22-17: three colours", "Tells *colours* apart.", "- No other colours.", "# a remark"):
        assert words in text
    assert "| test | 7 | float Keras | 85.71 % | - | - | 6 |" in text
    assert "| test | 7 | GPU | 85.71 % | - | - | 6 |" in text
    assert "| val | 9 | float Keras | 100.00 % | - | - | 9 |" in text
    assert "| test | GPU with float Keras | 100.00 % | 0 | 0 | 0.00 points, 0 images |" in text
    assert "| blue | 66.67 % | 2 of 3 |" in text
    assert "| blue | green | 1 |" in text
    assert "3 epochs in 5 min. Best while training: 81.25 % on val, epoch 2, the moving average of the weights." in text
    assert "    python train.py --seed 5\n" in text
    assert f"evaluate.py models/{NAME}.keras --bundle models/{NAME}.glslnn --data " in text
    for suffix in ("keras", "glslnn"):
        digest = evaluate.hashlib.sha256((root / f"models/{NAME}.{suffix}").read_bytes()).hexdigest()
        assert f"| {NAME}.{suffix} | `{digest}` |" in text


def test_written_again_without_run_and_evaluations(root):
    files = [root / f"models/{NAME}.md", *(root / f"models/{NAME}/{which}.png" for which in ("curves", "confusion"))]
    write(root)
    before = [path.read_bytes() for path in files]
    shutil.rmtree(root / "run")
    (root / "test.json").unlink()
    for path in files:
        path.unlink()
    assert run(root) == 0
    assert [path.read_bytes() for path in files] == before


def test_check_of_an_up_to_date_card_writes_no_files(root, capsys):
    write(root)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert printed(capsys, root, "--check", code=0) == ""
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_check_names_the_line(root, capsys):
    card = root / f"models/{NAME}.md"
    card.write_text(write(root).replace("85.71 %", "95.71 %"), "utf-8")
    capsys.readouterr()
    error = printed(capsys, root, "--check", code=1)
    assert error.count("\n") == 1
    assert f"{NAME}.md: line " in error and "95.71 %" in error and "write it again" in error


def test_check_sees_missing_and_stale_pictures(root, capsys):
    write(root)
    folder = root / f"models/{NAME}"
    shutil.copy(folder / "curves.png", folder / "confusion.png")
    (folder / "curves.png").unlink()
    capsys.readouterr()
    error = printed(capsys, root, "--check", code=1)
    assert [line.rpartition(".png")[0].rpartition("/")[2] for line in error.splitlines()] == ["curves", "confusion"]


def test_check_sees_another_model(root, capsys):
    write(root)
    with (root / f"models/{NAME}.keras").open("ab") as file:
        file.write(b"x")
    capsys.readouterr()
    assert "measured on another file than" in printed(capsys, root, "--check")


def test_an_evaluation_of_another_model_is_refused_before_any_write(root, capsys):
    report = json.loads((root / "test.json").read_text())
    report["sha256"]["bundle"] = "0" * 64
    write_json(root / "test.json", report)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    error = printed(capsys, root, "--run", root / "run", "--evaluation", root / "test.json")
    assert f"{NAME}.glslnn is now; evaluate that one" in error
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_missing_files_are_reported(root, capsys):
    assert "nothing collected yet; give --run DIR and --evaluation" in printed(capsys, root)
    assert "give --run DIR and --evaluation" in printed(capsys, root, "--run", root / "run")
    assert "no history.json" in printed(capsys, root, "--run", root, "--evaluation", root / "test.json")
    evaluations = ["--evaluation", root / "val.json", "--evaluation", root / "val.json"]
    assert "a second evaluation of the split 'val'" in printed(capsys, root, "--run", root / "run", *evaluations)
    assert "not written by evaluate.py" in printed(
        capsys, root, "--run", root / "run", "--evaluation", root / "run/config.json"
    )
    assert "--check takes no --run" in printed(capsys, root, "--check", "--run", root / "run")
    (root / f"models/{NAME}.glslnn").unlink()
    assert f"{NAME}.glslnn: no such file" in printed(capsys, root)


def test_part_of_a_split_makes_no_card(root, capsys):
    report = json.loads((root / "val.json").read_text())
    write_json(root / "val.json", {**report, "limit": 4})
    error = printed(capsys, root, "--run", root / "run", "--evaluation", root / "val.json")
    assert "was made with --limit 4; a card needs the whole split" in error


@pytest.mark.parametrize(
    "change, message",
    [
        ({"titel": "x"}, "unknown field 'titel'; the fields are title, description"),
        ({"title": None}, "'title' must be a text, not None"),
        ({"description": " "}, "'description' must be a text"),
        ({"limits": "none"}, "'limits' must be a list of texts"),
        ({"limits": []}, "'limits' must be a list of texts"),
        ({"train": [1]}, "'train' must be a list of texts"),
    ],
)
def test_words_that_do_not_fit(root, capsys, change, message):
    write_json(root / f"models/cards/{NAME}.yaml", {**WORDS, **change})
    assert message in printed(capsys, root)


def test_words_that_are_missing(root, capsys):
    path = root / f"models/cards/{NAME}.yaml"
    write_json(path, {key: value for key, value in WORDS.items() if key != "licence"})
    assert "missing field 'licence'" in printed(capsys, root)
    path.write_text("title: [")
    assert "cannot be read as YAML" in printed(capsys, root)
    path.write_text("just words")
    assert "holds no fields" in printed(capsys, root)
    path.unlink()
    assert "no such file; write one with title, description" in printed(capsys, root)


RUNS = [
    {"name": "first", "history": [{"epoch": 1, "loss": 2.0, "accuracy": 0.1}, {"epoch": 2, "loss": 1.5}]},
    {"name": "second", "history": [{"epoch": 1, "loss": 1.0, "accuracy": 0.2, "val_loss": 1.2, "val_accuracy": None}]},
]


def evaluation(classes, coarse=None):
    rng = np.random.default_rng(classes)
    truth = rng.integers(0, classes, 20 * classes)
    logits = rng.normal(size=(len(truth), classes)).astype(np.float32)
    logits[np.arange(len(truth)), truth] += 3.0
    labels = [f"A-Rather-Long-Name-{index:02}" for index in range(classes)]
    result = scores.score(logits, truth).as_json(labels)
    return {"labels": labels, "coarse_labels": coarse, "results": {"gpu": result}}


def opened(data):
    return Image.open(io.BytesIO(data))


@pytest.mark.parametrize("classes, groups", [(6, None), (81, 43)])
def test_the_confusion_picture_is_small_and_reproducible(classes, groups, tmp_path):
    coarse = None if groups is None else [f"group {index % groups:02}" for index in range(classes)]
    result = evaluation(classes, coarse)
    drawn = pictures.confusion(result, "gpu")
    assert drawn == pictures.confusion(result, "gpu")
    assert len(drawn) < 200_000
    assert max(opened(drawn).size) < 1600
    (tmp_path / "confusion.png").write_bytes(drawn)
    assert pictures.shows(tmp_path / "confusion.png") == pictures.shown(pictures.confusion_data(result, "gpu"))


def test_one_picture_more_is_another_matrix():
    result, other = evaluation(6), evaluation(6)
    row = other["results"]["gpu"]["confusion"]["A-Rather-Long-Name-00"]
    row["A-Rather-Long-Name-05"] = row.get("A-Rather-Long-Name-05", 0) + 1
    drawn = [
        np.asarray(opened(pictures.confusion(measured, "gpu")).convert("RGB"), int) for measured in (result, other)
    ]
    rows, columns = np.nonzero(np.abs(drawn[0] - drawn[1]).max(axis=2) > 30)  # palettes can differ slightly
    height, width = drawn[0].shape[:2]
    first_row = (rows > 0.38 * height) & (rows < 0.52 * height)
    assert first_row.mean() > 0.99
    assert columns.max() > 0.9 * width, "the last column changes"
    assert pictures.shown(pictures.confusion_data(result, "gpu")) != pictures.shown(
        pictures.confusion_data(other, "gpu")
    )


def test_the_order_is_by_coarse_class():
    assert pictures.confusion_order(["b", "a", "d", "c"], ["x", "y", "x", "y"]) == [0, 2, 1, 3]
    assert pictures.confusion_order(["b", "a"], None) == [0, 1]


def test_curves_of_runs_with_gaps(tmp_path):
    drawn = pictures.curves(RUNS)
    assert drawn == pictures.curves(RUNS)
    assert opened(drawn).size == (900, 340)
    (tmp_path / "curves.png").write_bytes(drawn)
    assert pictures.shows(tmp_path / "curves.png") == pictures.shown(pictures.curves_data(RUNS))
    assert pictures.shown(pictures.curves_data(RUNS[:1])) != pictures.shown(pictures.curves_data(RUNS))


def test_foreign_images_have_no_description(tmp_path):
    assert pictures.shows(tmp_path / "none.png") is None
    (tmp_path / "text.png").write_text("no picture")
    assert pictures.shows(tmp_path / "text.png") is None
    Image.new("RGB", (2, 2)).save(tmp_path / "other.png")
    assert pictures.shows(tmp_path / "other.png") is None


@pytest.mark.exhaustive
@pytest.mark.parametrize("words", sorted((MODELS / "cards").glob("*.yaml")), ids=lambda path: path.stem)
def test_up_to_date(words: Path):
    assert list(problems(CardFiles(MODELS, words.stem))) == []
