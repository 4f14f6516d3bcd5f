"""Every option for an output file refuses everything but a regular file, before any computation."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command_line import Capture, refused
from tiny import write_tiny

OUTPUTS = {
    "benchmark --csv": (["benchmark", "MODEL", "--csv"], ".csv"),
    "benchmark --plot": (["benchmark", "MODEL", "--profile", "--plot"], ".png"),
    "camera --screenshot": (["camera", "--window", "--source", "FOLDER", "--screenshot"], ".png"),
    "classify --csv": (["classify", "PICTURE", "--csv"], ".csv"),
    "classify --screenshot": (["classify", "PICTURE", "--window", "--screenshot"], ".png"),
    "export": (["export", "KERAS", "-o"], ".glslnn"),
    "inspect --out": (["inspect", "MODEL", "--layers", "PICTURE", "--out"], ""),
    "run, numbers": (["run", "MODEL", "PICTURE", "-o"], ".npy"),
    "run, a picture": (["run", "MODEL", "PICTURE", "-o"], ".png"),
    "validate": (["validate", "KERAS", "MODEL", "--data", "PICTURE", "--report"], ".html"),
    "vc4 --plot": (["vc4", "MODEL", "--plot"], ".png"),
}


@pytest.mark.parametrize("option", OUTPUTS)
def test_a_pipe_stays_a_pipe(tmp_path: Path, picture: Path, capsys: Capture, option: str) -> None:
    keras = tmp_path / "model.keras"
    keras.write_bytes(b"not read")
    values = {"MODEL": write_tiny(tmp_path), "PICTURE": picture, "KERAS": keras, "FOLDER": tmp_path}
    argv, suffix = OUTPUTS[option]
    node = tmp_path / f"node{suffix}"
    os.mkfifo(node)
    message = refused(capsys, [*(values.get(word, word) for word in argv), node])
    assert str(node) in message
    assert node.is_fifo()
    if option != "inspect --out":  # creates a folder
        assert "is a pipe" in message
        node.unlink()
        node.mkdir()
        assert "is a folder; name a file" in refused(capsys, [*(values.get(word, word) for word in argv), node])
