"""Reordered elements: any crop, shift and permutation of axes becomes a slice and a transposition."""

from __future__ import annotations

import numpy as np
import pytest

from glsl_infer import ops
from glsl_infer.bundle.format_constants import MAX_RANK
from glsl_infer.importers.core.moves import placed


def operators(shape: tuple[int, ...], numbers: np.ndarray) -> list[str]:
    """Compute the nodes of a reordering, compare with NumPy, and return their operators."""
    values = {"x": np.arange(float(np.prod(shape))).reshape(shape)}
    nodes = placed("moved", "x", shape, numbers)
    for node in nodes:
        read = [values[name] for name in node.inputs]
        values[node.name] = ops.get(node.op).reference(node, read)
        assert values[node.name].shape == tuple(ops.get(node.op).shape(node, [value.shape for value in read]))
    assert np.array_equal(values[nodes[-1].name], values["x"].reshape(-1)[numbers])
    return [node.op for node in nodes]


@pytest.mark.parametrize("seed", range(40))
def test_cuts_and_moves_of_axes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(int(size) for size in rng.integers(1, 6, rng.integers(1, 6)))
    numbers = np.arange(np.prod(shape)).reshape(shape).transpose(rng.permutation(len(shape)))
    begins = [int(rng.integers(0, size)) for size in numbers.shape]
    parts = [slice(begin, int(rng.integers(begin + 1, size + 1))) for begin, size in zip(begins, numbers.shape)]
    assert "gather_points" not in operators(shape, np.ascontiguousarray(numbers[tuple(parts)]))


def test_heads_are_cut_and_turned() -> None:
    numbers = np.arange(9 * 3 * 2 * 4).reshape(9, 3, 2, 4).transpose(1, 2, 0, 3)[1]
    assert operators((9, 24), numbers) == ["tensor_reshape", "tensor_slice", "tensor_transpose", "tensor_reshape"]


def test_other_moves_name_every_place() -> None:
    numbers = np.arange(12).reshape(3, 4)
    assert operators((3, 4), numbers) == ["reshape"]
    assert (
        operators((3, 4), numbers[::-1]) == operators((3, 4), numbers[[0, 2, 2]]) == ["tensor_reshape", "gather_points"]
    )


@pytest.mark.parametrize("shape", [(32,), (4, 8), (2, 2, 2, 2, 2), (2, 2, 2, 2, 1, 2)])
def test_rolled_numbers_fit_the_axes_of_a_weight(shape: tuple[int, ...]) -> None:
    numbers = np.roll(np.arange(32).reshape(4, 4, 2), (-1, -1), (0, 1)).reshape(shape)
    operators((4, 4, 2), numbers)
    for node in placed("moved", "x", (4, 4, 2), numbers):
        assert all(weights.ndim <= MAX_RANK for weights in node.weights.values())
