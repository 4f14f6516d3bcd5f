"""A TensorFlow Lite file from the command line to pixels, compared with LiteRT, which does not use the driver."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import foreign_models
import pytest

from glsl_infer.cli import main


def test_from_a_file_to_agreement_with_litert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, bundle, photos = foreign_models.exported("detector.tflite", tmp_path)
    assert main(["selfcheck", str(bundle)]) == 0
    capsys.readouterr()
    assert (
        main(["validate", str(model), str(bundle), "--data", str(photos), "--json", "--min-layer-cosine", "0.99"]) == 0
    )
    agreement = json.loads(capsys.readouterr().out)
    assert agreement["beside"].startswith("LiteRT ") and agreement["failures"] == []
    assert [end["name"] for end in agreement["outputs"]] == ["boxes", "mask"]
    assert all(end["sqnr_db"] > 25.0 for end in agreement["outputs"])
    # Zeros, phases of a transposed convolution and partial sums do not correspond to tensors of the file.
    assert len(agreement["layers"]) >= 8 and len(agreement["not_compared"]) <= 3
    assert "tensorflow" not in sys.modules


def test_sizes_that_the_file_leaves_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, bundle, photos = foreign_models.exported("open.tflite", tmp_path, "--input-size", "12x20")
    assert main(["inspect", str(model), "--input-size", "12x20"]) == 0
    capsys.readouterr()
    assert main(["validate", str(model), str(bundle), "--data", str(photos), "--json"]) == 0
    agreement = json.loads(capsys.readouterr().out)
    assert agreement["failures"] == [] and agreement["outputs"][0]["cosine"] > 0.99
    assert main(["inspect", str(model)]) == 2
    assert "--input-size" in capsys.readouterr().err
