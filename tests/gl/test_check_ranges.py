"""Values clipped by ranges on the user's own input are reported by layer."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.cli import main
from glsl_infer.compiler.build import Options, build
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.graph.purposes import VALUES
from glsl_infer.runtime.session import Session

SIDE = 16


def image(most: int) -> np.ndarray:
    return np.random.default_rng(most).integers(0, most + 1, (SIDE, SIDE, 3)).astype(np.uint8)


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    """A network calibrated on dark images: a threshold that only bright images exceed by much, and a sigmoid."""
    kernel = np.array([[1, 0, 0, 0.02], [0, 1, 0, 0.02], [0, 0, 1, 0.02]], np.float32)
    mixed = np.array([[1, 0.5], [0.5, 1], [1, 1], [1, 1]], np.float32)
    nodes = [
        Node("image", "input", (), {"shape": (SIDE, SIDE, 3)}),
        Node(
            "threshold",
            "conv2d",
            ("image",),
            {"activation": "relu"},
            {"kernel": kernel[None, None], "bias": np.array([-0.6, -0.6, -0.6, 0.01], np.float32)},
        ),
        Node(
            "likely",
            "conv2d",
            ("threshold",),
            {"activation": "sigmoid"},
            {"kernel": mixed[None, None], "bias": np.zeros(2, np.float32)},
        ),
    ]
    graph = Graph("dark", nodes, [GraphOutput("numbers", ("likely",), (), VALUES)])
    dark = [image(60 + index) for index in range(3)]
    return build(graph, (), options=Options(precision="8"), calibration=dark)[0]


def test_a_bright_image_is_clipped_and_a_dark_one_is_not(bundle: Bundle, context: Context) -> None:
    with Session(bundle, context=context, check_ranges=True) as session:
        (result, *others) = session.saturation(image(255))
        assert result.layer == "threshold" and result.high > 0.2 and not result.low and not others
        with pytest.warns(UserWarning, match=r"'threshold' \(.* % of its values\).*--images"):
            session.run(image(255))
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            session.run(image(50))


def test_run_warns_of_clipped_values(bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, bright, out = tmp_path / "model.glslnn", tmp_path / "bright.png", tmp_path / "out.json"
    bundles.write(bundle, model)
    Image.fromarray(image(255)).save(bright)
    command = ["run", str(model), str(bright), "-o", str(out), "--no-selfcheck"]
    assert main([*command, "--check-ranges"]) == 0
    assert "warning: ranges clip values of this input in the layers 'threshold'" in capsys.readouterr().err
    Image.fromarray(image(50)).save(bright)
    assert main([*command, "--check-ranges"]) == 0
    assert "ranges cover this input" in capsys.readouterr().err
    assert json.loads(out.read_text())
    assert main(command) == 0
    assert "ranges" not in capsys.readouterr().err
