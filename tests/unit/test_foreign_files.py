"""Well-known model formats without an importer: the message names each format and a converter."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from glsl_infer import importers
from glsl_infer.errors import InputError


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
