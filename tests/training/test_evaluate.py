"""evaluate.py as a user runs it, on a tiny network that classifies three colours."""

import json
import shutil

import pytest
from colour_classifier import LABELS, save_colours
from command_line import run_python
from planted_modules import executed, plant

from training import evaluate

pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def model(image_folder, tmp_path_factory):
    """Return the model.keras of a run folder with labels.txt."""
    path = save_colours(image_folder, tmp_path_factory.mktemp("run") / "model.keras")
    path.with_name("labels.txt").write_text("".join(f"{label}\n" for label in LABELS), "utf-8")
    return path


@pytest.fixture
def data(image_folder, tmp_path):
    """Return a copy of the val split, with coarse classes, and one image in the wrong folder."""
    shutil.copytree(image_folder / "val", tmp_path / "data/val")
    rows = "label,coarse_label\nred,warm\ngreen,cold\nblue,cold\n"
    (tmp_path / "data/manifest.csv").write_text(rows, "utf-8")
    shutil.copy(image_folder / "test/green/green0.png", tmp_path / "data/val/blue/mistaken.png")
    return tmp_path / "data/val"


def run(*argv):
    return evaluate.main([str(word) for word in argv])


def refused(capsys, *argv):
    assert run(*argv) == 2
    output = capsys.readouterr()
    assert output.out == "" and output.err.startswith("error: ")
    assert output.err.count("\n") == 1
    return output.err


def test_float_reference_and_gpu_the_same_each_time(model, data, tmp_path, capsys, monkeypatch):
    options = ["--data", data, "--gpu", "--reference", "--json"]
    assert run(model, *options, tmp_path / "out.json") == 0
    text = capsys.readouterr().out
    assert "90.00 %" in text and "GPU to float Keras" in text and "3 of 4" in text
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["pictures"] == 10
    assert (report["split"], report["labels"]) == ("val", list(LABELS))
    assert report["coarse_labels"] == ["cold", "cold", "warm"]
    assert set(report["results"]) == set(report["machine"]) == {"float", "exact", "gpu"}
    for result in report["results"].values():
        assert result["top1"] == 0.9 and result["coarse_top1"] == 1.0 and result["top5"] is None
        assert result["per_class"]["blue"] == {"pictures": 4, "right": 3}
        assert result["confusion"]["blue"] == {"blue": 3, "green": 1}
    assert set(report["comparisons"]) == {"gpu to float", "exact to float", "gpu to exact"}
    assert report["comparisons"]["gpu to float"]["agreement"] == 1.0
    assert report["comparisons"]["gpu to float"]["mean_logit_error"] > 0
    assert "bundle" not in report and set(report["sha256"]) == {"model", "bundle"}
    monkeypatch.chdir(plant(tmp_path))
    assert run(model, *options, tmp_path / "again.json") == 0
    assert (tmp_path / "out.json").read_bytes() == (tmp_path / "again.json").read_bytes()
    assert executed(tmp_path) == [], "of the current folder nothing is executed"


def test_limit_sets_the_number_of_images(model, data, tmp_path):
    assert run(model, "--data", data, "--limit", "4", "--json", tmp_path / "out.json") == 0
    report = json.loads((tmp_path / "out.json").read_text())
    assert (report["pictures"], report["limit"]) == (4, 4)


def test_a_broken_picture_is_named_and_left_out(model, data, tmp_path, capsys):
    (data / "red/broken.png").write_bytes(b"no picture")
    assert run(model, "--data", data, "--json", tmp_path / "out.json") == 0
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["pictures"] == 10
    assert list(report["skipped"]) == [str(data / "red/broken.png")]
    errors = capsys.readouterr().err
    assert "warning: 1 of 11 images" in errors and f"  {data / 'red/broken.png'}: " in errors
    assert run(model, "--data", data, "--strict") == 2
    assert "red/broken.png" in capsys.readouterr().err


def test_a_limit_of_zero_is_refused(model, data, capsys):
    with pytest.raises(SystemExit) as stopped:
        run(model, "--data", data, "--limit", "0")
    assert stopped.value.code == 2
    assert "0 is not a whole number of at least 1" in capsys.readouterr().err


def test_wrong_files_are_one_line(model, data, tmp_path, capsys):
    assert "no such file" in refused(capsys, tmp_path / "none.keras", "--data", data)
    assert "no such folder" in refused(capsys, model, "--data", tmp_path / "none")
    assert "no such folder" in refused(capsys, model, "--data", data, "--json", tmp_path / "none/out.json")
    assert "none.glslnn: no such file" in refused(capsys, model, "--data", data, "--bundle", tmp_path / "none.glslnn")


def test_labels_that_do_not_fit_the_model(model, data, tmp_path, capsys):
    other = tmp_path / "model.keras"
    shutil.copy(model, other)
    (tmp_path / "labels.txt").write_text("blue\ngreen\nred\nwhite\n")
    assert "has 3 classes, but there are 4 labels" in refused(capsys, other, "--data", data)


def test_keras_stays_out_of_its_own_process():
    unwanted = {"keras", "tensorflow"}
    code = f"import sys, training.evaluate, training.model_card; print({unwanted} & {{*sys.modules}})"
    done = run_python("-c", code, check=True)
    assert done.stdout == "set()\n"


def test_an_existing_report_survives_a_failure(model, data, tmp_path, capsys):
    out = tmp_path / "out.json"
    out.write_text("kept")
    (data / "orange").mkdir()
    assert "orange" in refused(capsys, model, "--data", data, "--json", out)
    assert out.read_text() == "kept"
