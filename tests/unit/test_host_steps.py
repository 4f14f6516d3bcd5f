"""Host steps worked out by hand, and input files whose shape differs by axes of 1."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny

from glsl_infer.cli.number_files import read_input
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.host_steps import HostStep, apply, shape_of
from glsl_infer.tools.calibration import samples

ROW = np.array([[0.0, math.log(3.0)]])


def steps(*names: object) -> tuple[HostStep, ...]:
    """Return steps by name; an integer is the number of columns of ``rows``."""
    return tuple(HostStep("rows", name) if isinstance(name, int) else HostStep(str(name)) for name in names)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("softmax", [[0.25, 0.75]]),
        ("sigmoid", [[0.5, 0.75]]),
        ("argmax", [1.0]),
        ("l2-normalize", [[0.0, 1.0]]),
        ("concatenate", ROW.tolist()),
    ],
)
def test_each_step_computes_the_expected_values(name: str, expected: object) -> None:
    result = apply(steps(name), [ROW])
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_large_numbers() -> None:
    x = np.array([-1e4, 0.0, 1e4])
    assert apply(steps("softmax"), [x]).tolist() == [0, 0, 1]
    assert apply(steps("sigmoid"), [x]).tolist() == [0, 0.5, 1]


def test_argmax_takes_the_first_of_equals_and_can_reduce_to_a_scalar() -> None:
    result = apply(steps("argmax"), [np.array([1.0, 5.0, 5.0])])
    assert result.shape == ()
    assert result == 1


def test_a_vector_of_zeros_has_no_direction() -> None:
    assert apply(steps("l2-normalize"), [np.zeros(3)]).tolist() == [0, 0, 0]


def test_a_detector() -> None:
    """Two maps with 2 boxes per pixel and 3 values per box become one list of boxes."""
    maps = [np.arange(24.0).reshape(2, 2, 6), 100 + np.arange(6.0).reshape(1, 1, 6)]
    chain = steps(3, "concatenate")
    result = apply(chain, maps)
    assert result.shape == shape_of(chain, [map.shape for map in maps]) == (10, 3)
    assert result[1].tolist() == [3, 4, 5]
    assert result[8:].tolist() == [[100, 101, 102], [103, 104, 105]]


def test_no_step_rounds_once() -> None:
    assert apply((), [np.array([1 / 3])]) == np.float32(1 / 3)


@pytest.mark.parametrize(
    ("chain", "shapes", "expected"),
    [
        (steps("argmax"), [(2, 3, 4)], (2, 3)),
        (steps(4), [(2, 3, 4)], (6, 4)),
        (steps("argmax", "sigmoid", 1), [(4,)], (1, 1)),
        (steps("concatenate", "softmax"), [(4,), (5,)], (9,)),
        ((), [(3, 3, 1)], (3, 3, 1)),
    ],
)
def test_the_shape_of_a_chain_is_that_of_its_result(
    chain: tuple[HostStep, ...], shapes: list[tuple[int, ...]], expected: tuple[int, ...]
) -> None:
    assert shape_of(chain, shapes) == expected
    assert apply(chain, [np.zeros(shape) for shape in shapes]).shape == expected


@pytest.mark.parametrize(
    ("chain", "shapes", "message"),
    [
        ((), [(1,), (1,)], "2 arrays are left after the last step; add 'concatenate'"),
        (steps(5), [(2, 3, 4)], "cannot cut 24 numbers into rows of 5"),
        (steps("concatenate"), [(2, 3), (2, 4)], "differ in the first axis only"),
        (steps("concatenate"), [(2, 3), (6,)], "differ in the first axis only"),
        (steps("argmax", "argmax"), [(4,)], "'argmax' needs an array, and gets a single number"),
        (steps("argmax", "concatenate"), [(4,), (4,)], "'concatenate' needs an array"),
        ((HostStep("rows"),), [(4,)], "rows of 0"),
        (steps("relu"), [(4,)], "no step is called 'relu'; there are: rows, concatenate"),
    ],
)
def test_invalid_steps_are_refused(chain: tuple[HostStep, ...], shapes: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        shape_of(chain, shapes)
    with pytest.raises(ValueError, match=message):
        apply(chain, [np.zeros(shape) for shape in shapes])


SHAPE = (1, 5, 2)
GRAPH = Graph("g", (Node("x", "input", (), {"shape": SHAPE, "fit": None, "scales": None, "zeros": None}),), "x")


@pytest.mark.parametrize(("shape", "count"), [((5, 2), 1), (SHAPE, 1), ((3, 5, 2), 3), ((2, 1, 5, 2), 2)])
def test_calibration_samples_get_the_shape_of_the_input(shape: tuple[int, ...], count: int, tmp_path: Path) -> None:
    values = np.arange(10.0 * count, dtype=np.float32).reshape(shape)
    np.savez(tmp_path / "x.npz", x=values)
    images = samples(GRAPH, [tmp_path / "x.npz"])
    assert [sample["x"].shape for sample in images] == [SHAPE] * count
    np.testing.assert_array_equal(np.stack([sample["x"] for sample in images]).ravel(), values.ravel())


@pytest.mark.parametrize("shape", [(4, 7), (4, 7, 1), (3, 4, 7), (3, 4, 7, 1)])
def test_grey_pictures_that_fit_stay_as_they_are(shape: tuple[int, ...], tmp_path: Path) -> None:
    pictures = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    np.savez(tmp_path / "x.npz", x=pictures)
    images = samples(Graph("g", (Node("x", "input", (), {"shape": (4, 7, 1)}),), "x"), [tmp_path / "x.npz"])
    np.testing.assert_array_equal(np.stack([sample["x"] for sample in images]), pictures.reshape(-1, 4, 7, 1))


def test_other_shapes_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.zeros((3, 5), np.float32))
    with pytest.raises(InputError, match=r"x.npz: .* \(1, 5, 2\)"):
        samples(GRAPH, [tmp_path / "x.npz"])


def test_an_input_file_can_have_a_batch_axis(tmp_path: Path) -> None:
    model_input = replace(tiny.tiny_bundle().manifest.inputs[0], kind="numbers", fit=None)
    np.save(tmp_path / "x.npy", np.zeros((1, *model_input.shape), np.float32))
    assert read_input(tmp_path / "x.npy", model_input).shape == model_input.shape
