"""Arrays as calibration data, for images and for other inputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from graphs import conv_node, input_node, pool_node

from glsl_infer.errors import InputError
from glsl_infer.graph import Graph
from glsl_infer.importers.core.io_options import NO_PICTURE, IoOptions, with_io_options
from glsl_infer.tools.calibration import samples

RANDOM = np.random.default_rng(0)
NODES = (input_node(12), conv_node(RANDOM, "a", ("image",), 3, 5, activation="relu"), pool_node("pool", "a"))
PICTURES = with_io_options(Graph("g", NODES, "pool"), IoOptions())
SIGNED = with_io_options(Graph("g", NODES, "pool"), IoOptions({"": (-1.0, 1.0)}))
NUMBERS = with_io_options(Graph("g", NODES, "pool"), IoOptions(fits={"": NO_PICTURE}))
BYTES = RANDOM.integers(0, 256, (4, 12, 12, 3), np.uint8)
DECIBELS = RANDOM.uniform(-80.0, 0.0, (4, 12, 12, 3)).astype(np.float32)


def saved(path: Path, **arrays: np.ndarray) -> Path:
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize(("graph", "low", "high"), [(PICTURES, 0.0, 1.0), (SIGNED, -1.0, 1.0)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_in_the_range_of_a_picture_are_its_bytes(
    graph: Graph, low: float, high: float, dtype: type, tmp_path: Path
) -> None:
    np.save(tmp_path / "x.npy", (low + BYTES / 255 * (high - low)).astype(dtype))
    values = np.stack([sample["image"] for sample in samples(graph, [tmp_path / "x.npy"])])
    assert values.dtype == np.uint8
    assert np.abs(values.astype(int) - BYTES).max() <= (0 if dtype != np.float16 else 1)


@pytest.mark.parametrize("name", ["image", "anything"])
def test_a_spectrogram_is_accepted_with_fit_none(name: str, tmp_path: Path) -> None:
    path = saved(tmp_path / "x.npz", **{name: DECIBELS})
    with pytest.raises(InputError, match="--input-range"):
        samples(PICTURES, [path])
    assert len(samples(NUMBERS, [path])) == 4
    np.save(tmp_path / "one.npy", DECIBELS[0])
    (only,) = samples(NUMBERS, [tmp_path / "one.npy"])
    np.testing.assert_array_equal(only["image"], DECIBELS[0])


def test_arrays_without_an_axis_of_one(tmp_path: Path) -> None:
    node = replace(input_node(12), attrs={"shape": (12, 9, 1), "fit": None, "scales": None, "zeros": None})
    graph = Graph("g", (node, conv_node(RANDOM, "a", ("image",), 1, 5), pool_node("pool", "a")), "pool")
    for shape, count in (((12, 9), 1), ((12, 9, 1), 1), ((5, 12, 9), 5), ((1, 12, 9, 1), 1)):
        np.save(tmp_path / "x.npy", np.zeros(shape, np.float32))
        assert len(samples(graph, [tmp_path / "x.npy"])) == count


def test_channels_can_be_first_as_in_onnx(tmp_path: Path) -> None:
    for shape in ((12, 9, 2), (1, 30, 4)):
        node = replace(input_node(12), attrs={"shape": shape, "fit": None, "scales": None, "zeros": None})
        graph = Graph("g", (node, conv_node(RANDOM, "a", ("image",), shape[2], 5), pool_node("pool", "a")), "pool")
        values = RANDOM.normal(size=(3, *shape)).astype(np.float32)
        for stored in (values, np.moveaxis(values, -1, 1), np.moveaxis(values, -1, 1).squeeze()):
            np.save(tmp_path / "x.npy", stored)
            images = [sample["image"] for sample in samples(graph, [tmp_path / "x.npy"])]
            np.testing.assert_array_equal(images, values)


def test_arrays_that_do_not_fit_are_named_with_the_expected_shape(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((12, 7, 3), np.float32))
    with pytest.raises(InputError, match="--fit"):
        samples(PICTURES, [tmp_path / "x.npy"])
    with pytest.raises(InputError, match=r"give an array of shape \(12, 12, 3\) or \(3, 12, 12\), or several samples"):
        samples(NUMBERS, [tmp_path / "x.npy"])
    (tmp_path / "y.npy").write_bytes(b"no array")
    with pytest.raises(InputError, match=r"y\.npy"):
        samples(NUMBERS, [tmp_path / "y.npy"])
    np.save(tmp_path / "z.npy", np.full((12, 12, 3), np.nan, np.float32))
    with pytest.raises(InputError, match="values from nan"):
        samples(PICTURES, [tmp_path / "z.npy"])
