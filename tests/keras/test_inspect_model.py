"""glsl-infer inspect model.keras: the processor of each layer, refusals, and advice, as in export."""

from __future__ import annotations

import json
from pathlib import Path

import keras
import pytest
from command_line import Capture, refused

from glsl_infer.cli import main
from glsl_infer.errors import ModelError
from glsl_infer.importers import keras as importer

L = keras.layers


class UnknownLayer(L.Layer):
    """Layer unknown to the process that reads the file."""

    def call(self, inputs):
        return inputs


def head(x: keras.KerasTensor) -> keras.KerasTensor:
    return L.Dense(5, activation="softmax", name="out")(L.GlobalAveragePooling2D(name="mean")(x))


@pytest.fixture(scope="module")
def exportable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    x = keras.Input((8, 8, 3), name="picture")
    y = L.Dropout(0.5, name="drop")(L.Conv2D(4, 3, activation="relu", name="conv")(x))
    path = tmp_path_factory.mktemp("exportable") / "model.keras"
    keras.Model(x, head(y)).save(path)
    return path


@pytest.fixture(scope="module")
def refused_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model with layers refused by class, by option, by shape and by the compiler."""
    x = keras.Input((9, 9, 3), name="picture")
    y = L.Lambda(lambda t: t, name="code")(x)
    y = UnknownLayer(name="own")(y)
    y = L.Conv2D(5, 3, name="five")(L.AutoContrast(name="contrast")(y))
    y = L.Resizing(14, 14, "area", name="area")(y)
    y = L.Conv2D(5, 3, activation="sigmoid", name="conv")(y)
    flat = L.Flatten(name="flat")(y)
    rows = L.Masking(name="row-mask")(L.Reshape((144, 5), name="rows")(y))
    rows = L.RNN(L.GRUCell(3), name="memory")(rows)
    path = tmp_path_factory.mktemp("refused") / "model.keras"
    keras.Model(x, {"a": L.Dense(2, name="out")(flat), "b": rows}).save(path)
    return path


def inspected(capsys: Capture, path: Path) -> dict:
    assert main(["inspect", str(path), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_model_that_exports(exportable: Path, capsys: Capture) -> None:
    inspection = inspected(capsys, exportable)
    assert {row["layer"]: row["runs"] for row in inspection["layers"]} == {
        "picture": "shader",
        "conv": "shader",
        "drop": "dropped",
        "mean": "shader",
        "out": "shader",
    }
    assert inspection["exports"]
    assert inspection["needs_pictures"]
    assert inspection["counts"] == {"shader": 4, "dropped": 1}
    assert main(["inspect", str(exportable)]) == 0
    assert "can be exported; the export needs --images DIR" in capsys.readouterr().out


def test_problems_after_a_refused_layer_are_listed(refused_model: Path, capsys: Capture) -> None:
    inspection = inspected(capsys, refused_model)
    rows = {row["layer"]: row for row in inspection["layers"]}
    refused_rows = {name for name, row in rows.items() if row["runs"] == "refused"}
    assert refused_rows >= {"code", "own", "contrast", "memory"}
    assert rows["conv"]["runs"] == "shader"
    for name in refused_rows:
        assert rows[name]["advice"], name
        assert any(problem.startswith(f"layer '{name}': ") for problem in inspection["problems"])
    assert not inspection["exports"]


def test_a_refused_layer_after_cpu_layers_is_the_only_problem(tmp_path: Path, capsys: Capture) -> None:
    keras.backend.clear_session()  # it numbers the names of operations
    x = keras.Input((8, 8, 3), name="picture")
    rows = L.Reshape((64, 3))(x)
    y = L.Reshape((8, 8, 64))(keras.ops.matmul(rows, keras.ops.transpose(rows, (0, 2, 1))))
    y = L.Lambda(lambda t: t, name="odd")(L.Conv2D(4, 3, name="conv")(y))
    keras.Model(x, head(y)).save(tmp_path / "model.keras")
    inspection = inspected(capsys, tmp_path / "model.keras")
    assert [problem.partition(":")[0] for problem in inspection["problems"]] == ["layer 'odd'"]
    runs = {row["layer"]: row["runs"] for row in inspection["layers"]}
    assert (runs["matmul"], runs["conv"], runs["odd"], runs["out"]) == ("CPU", "shader", "refused", "shader")


def test_the_table_has_a_line_for_each_layer(refused_model: Path, capsys: Capture) -> None:
    assert main(["inspect", str(refused_model)]) == 0
    lines = capsys.readouterr().out.splitlines()
    for layer, words in {
        "code": ("Lambda", "refused"),
        "own": ("UnknownLayer", "refused"),
        "conv": ("Conv2D", "shader"),
        "memory": ("RNN", "refused"),
    }.items():
        (line,) = (line for line in lines if line.split()[:1] == [layer])
        assert line.split()[1] == words[0]
        assert words[1] in line


def test_export_reports_the_same_problems_and_missing_images(
    refused_model: Path, tmp_path: Path, capsys: Capture
) -> None:
    inspection = inspected(capsys, refused_model)
    assert (
        main(["export", str(refused_model), "-o", str(tmp_path / "o.glslnn"), "--images", str(tmp_path / "none")]) == 2
    )
    message = capsys.readouterr().err
    for problem in inspection["problems"]:
        assert problem in message
    assert f"{tmp_path / 'none'}: no such file" in message


def test_a_folder_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert 'model.save("x.keras")' in refused(capsys, ["inspect", tmp_path])


def test_a_lambda_is_not_executed(tmp_path: Path) -> None:
    """A Lambda runs neither on loading nor in the report, although Keras would run it with safe_mode=False."""
    marker = tmp_path / "ran"
    code = keras.layers.Lambda(lambda t, path=str(marker): (open(path, "w").close(), t)[1], name="code")  # noqa: PTH123
    x = keras.Input((8, 8, 3))
    keras.Model(x, code(x)).save(tmp_path / "m.keras")
    marker.unlink()  # building the model has run it
    with pytest.raises(ModelError, match="layer 'code'"):
        importer.load(tmp_path / "m.keras")
    with pytest.raises(ModelError, match="layer 'code': a Lambda"):
        importer.load_model(tmp_path / "m.keras")
    assert not marker.exists()
    assert importer.survey(tmp_path / "m.keras").rows[1].kind == "Lambda"
    assert not marker.exists()


def test_options_for_exported_models_are_refused(exportable: Path, capsys: Capture) -> None:
    assert "--passes, --images and --onnx-view need an exported model" in refused(
        capsys, ["inspect", exportable, "--passes"]
    )
