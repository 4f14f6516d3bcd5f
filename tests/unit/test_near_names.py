"""Suggestions for misspelt names, and converters for model formats without an importer."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest
from command_line import Capture, refused
from tiny import tiny_graph

import glsl_infer
from glsl_infer import importers
from glsl_infer.errors import BundleError, InputError, pip_install
from glsl_infer.graph import Graph, Node
from glsl_infer.importers.core.io_options import IoOptions, with_io_options
from glsl_infer.support.near_names import choices, did_you_mean, nearest
from glsl_infer.tasks import reading
from glsl_infer.tools.get import catalogue


@pytest.mark.parametrize(
    ("word", "name"), [("landmark", "landmarks"), ("FACES", "faces"), ("clasify", "classify"), ("zzz", None)]
)
def test_nearest_name(word: str, name: str | None) -> None:
    assert nearest(word, ["classify", "faces", "landmarks"]) == name
    assert did_you_mean(word, ["classify", "faces", "landmarks"]) == (f" (did you mean {name}?)" if name else "")


def test_misspelt_tasks_and_networks() -> None:
    with pytest.raises(InputError, match=r"task 'face-mehs'.*did you mean face-mesh\?"):
        reading.find("face-mehs")
    with pytest.raises(InputError, match=r"task 'facez'.*did you mean faces\?"):  # not its other spelling, face
        reading.find("facez")
    with pytest.raises(InputError, match=r"'cats': no such task; give one of selfie, selfie-landscape, or a file"):
        glsl_infer.tasks.Segmenter("cats")
    with pytest.raises(InputError, match=r"'selfi': no such network \(did you mean selfie\?\)"):
        catalogue.chosen(["selfi"], catalogue.read())


def test_misspelt_files(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "trashnet.glslnn").write_bytes(b"")
    (tmp_path / "photo.jpg").write_bytes(b"")
    message = refused(capsys, ["inspect", tmp_path / "trashnt.glslnn"])
    assert f"no such file (did you mean {tmp_path / 'trashnet.glslnn'}?)" in message
    assert f"(did you mean {tmp_path / 'photo.jpg'}?)" in refused(capsys, ["detect", tmp_path / "photos.jpg"])
    assert f"(did you mean {tmp_path / 'trashnet.glslnn'}?)" in refused(
        capsys, ["inspect", tmp_path / "trashnet.glsnn"]
    )
    assert "did you mean" not in refused(capsys, ["inspect", tmp_path / "else.glslnn"])
    assert "did you mean" not in refused(capsys, ["inspect", tmp_path / "missing/trashnet.glslnn"])


def test_a_message_lists_the_first_of_many_names() -> None:
    many = [f"conv{index}" for index in range(60)]
    options = IoOptions(ranges={"iamge": (0.0, 1.0)})
    graph = Graph("many", [Node("image", "input", (), {"shape": (4, 4, 3)})], "image")
    with pytest.raises(InputError, match=r"no such name \(did you mean image\?\); it has image$"):
        with_io_options(graph, options)
    assert choices(many) == ", ".join(many[:10]) + " and 50 more"
    assert choices(iter(many[:10])) == ", ".join(many[:10])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            IoOptions(purposes={"": "clases"}),
            "--purpose softmax=clases (did you mean classes?); choose one of classes, ",
        ),
        (IoOptions(fits={"": "strech"}), "--fit image=strech (did you mean stretch?); choose one of center-square, "),
        (IoOptions(fits={"": "zzz"}), "--fit image=zzz; choose one of center-square, "),
    ],
)
def test_misspelt_values_of_options(options: IoOptions, message: str) -> None:
    with pytest.raises(InputError) as caught:
        with_io_options(tiny_graph(), options)
    assert str(caught.value).startswith(message)


def test_other_spellings_of_tasks() -> None:
    assert reading.find("face").name == "faces" and reading.find("person").name == "people"
    models = catalogue.read()
    assert catalogue.chosen(["face"], models) == catalogue.chosen(["faces"], models)


def test_install_command_names_this_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "my venv/bin/python"
    monkeypatch.setattr(sys, "executable", str(python))
    assert pip_install("tflite") == f"'{python}' -m pip install tflite"
    monkeypatch.chdir(tmp_path)
    assert pip_install("tflite") == "'my venv/bin/python' -m pip install tflite"


def test_rules_are_only_in_debug_output(capsys: Capture, tmp_path: Path) -> None:
    model = tmp_path / "damaged.glslnn"
    model.write_bytes(b"PK\3\4" + bytes(30))
    message = refused(capsys, ["inspect", model])
    assert str(model) in message and "(rule" not in message
    from glsl_infer.cli import main

    with pytest.raises(BundleError, match=r"\(rule: container\)"):
        main(["inspect", str(model), "--debug"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("m.pt", "a PyTorch file, .* torch.onnx.export"),
        ("m.safetensors", "weights without a network; .* torch.onnx.export"),
        ("m.ort", r"ONNX Runtime's own format; .*optimized_model_filepath = 'm\.onnx'"),
        ("m.pb", r"a frozen graph of TensorFlow; .*tf2onnx.convert --graphdef m\.pb .* --output m\.onnx"),
        ("m.mlmodel", "a Core ML model"),
        ("m.gguf", "a language model for llama.cpp"),
        ("m.pdmodel", r"paddle2onnx .* --save_file m\.onnx"),
        ("m.engine", "compiled for one kind of chip"),
        ("m.xyz", "not a model file that glsl-infer can read"),
    ],
)
def test_foreign_formats_are_named(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"some bytes")
    with pytest.raises(InputError, match=message):
        importers.survey(tmp_path / name)


def test_a_missing_folder_is_called_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"saved_model: no such file or folder$"):
        importers.survey(tmp_path / "saved_model")
    with pytest.raises(InputError, match=r"mine\.glsl: no such file or folder$"):
        importers.survey(tmp_path / "mine.glsl")


def test_an_archive_is_listed(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
        archive.writestr("keras_model.h5", b"x")
        archive.writestr("labels.txt", b"x")
    with pytest.raises(InputError, match=r"keras_model\.h5"):
        importers.survey(tmp_path / "m.zip")


def test_a_task_file_without_a_model(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "m.task", "w") as archive:
        archive.writestr("TF_LITE_PREFILL_DECODE", b"x")
    with pytest.raises(InputError, match=r"contains no \.tflite model \(TF_LITE_PREFILL_DECODE\)"):
        importers.survey(tmp_path / "m.task")
    (tmp_path / "n.task").write_bytes(b"no archive")
    with pytest.raises(InputError, match="not a ZIP file of models, or damaged"):
        importers.survey(tmp_path / "n.task")
