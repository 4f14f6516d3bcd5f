"""Input files whose shape differs from the input's by axes of 1: internally, a sequence is a map of one row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny

from glsl_infer.cli.number_files import read_input
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, Node
from glsl_infer.tools.calibration import samples

SHAPE = (1, 5, 2)
GRAPH = Graph("g", (Node("x", "input", (), {"shape": SHAPE, "fit": None, "scales": None, "zeros": None}),), "x")


@pytest.mark.parametrize(("shape", "count"), [((5, 2), 1), (SHAPE, 1), ((3, 5, 2), 3), ((2, 1, 5, 2), 2)])
def test_calibration_samples_get_the_shape_of_the_input(shape: tuple[int, ...], count: int, tmp_path: Path) -> None:
    numbers = np.arange(10.0 * count, dtype=np.float32).reshape(shape)
    np.savez(tmp_path / "x.npz", x=numbers)
    images = samples(GRAPH, [tmp_path / "x.npz"])
    assert [sample["x"].shape for sample in images] == [SHAPE] * count
    np.testing.assert_array_equal(np.stack([sample["x"] for sample in images]).ravel(), numbers.ravel())


@pytest.mark.parametrize("shape", [(4, 7), (4, 7, 1), (3, 4, 7), (3, 4, 7, 1)])
def test_grey_pictures_that_fit_stay_as_they_are(shape: tuple[int, ...], tmp_path: Path) -> None:
    pictures = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    np.savez(tmp_path / "x.npz", x=pictures)
    images = samples(Graph("g", (Node("x", "input", (), {"shape": (4, 7, 1)}),), "x"), [tmp_path / "x.npz"])
    np.testing.assert_array_equal(np.stack([sample["x"] for sample in images]), pictures.reshape(-1, 4, 7, 1))


def test_other_shapes_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.zeros((2, 5), np.float32))
    with pytest.raises(InputError, match=r"x.npz: .* \(1, 5, 2\)"):
        samples(GRAPH, [tmp_path / "x.npz"])


def test_an_input_file_can_have_a_batch_axis(tmp_path: Path) -> None:
    entry = replace(tiny.tiny_bundle().manifest.inputs[0], kind="numbers", fit=None)
    np.save(tmp_path / "x.npy", np.zeros((1, *entry.shape), np.float32))
    assert read_input(tmp_path / "x.npy", entry).shape == entry.shape
