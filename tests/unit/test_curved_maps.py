"""Maps along a curve, as scripts/curved_maps.py simulates them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from glsl_infer.graph import Node

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from precision_parts import curved


def layer(scales: tuple[float, ...], zeros: tuple[float, ...]) -> Node:
    return Node("n", "conv2d", ("a",), {"scales": scales, "zeros": zeros, "bits": 8})


def test_one_sided_maps_are_squares_of_bytes() -> None:
    given = 6.0 * (np.arange(256.0) / 255.0) ** 2
    assert np.allclose(curved.along(layer((6.0,), (0.0,)), given[:, None])[:, 0], given)
    assert curved.along(layer((6.0,), (0.0,)), np.array([[-1.0, 9.0]])).tolist() == [[0.0, pytest.approx(6.0)]]


@pytest.mark.parametrize("zeros", [(64.0,), (0.0, 30.0, 128.0, 255.0)])
def test_signed_maps_keep_0_and_reach_both_ends(zeros: tuple[float, ...]) -> None:
    node = layer((2.0,), zeros)
    points = np.broadcast_to(np.asarray(zeros), 4)
    low, high = -2.0 * points / 255.0, 2.0 * (255.0 - points) / 255.0
    found = curved.along(node, np.stack([low, 0.0 * low, high]))
    assert not found[1].any()
    assert (found[0] <= low + 0.02).all() and (found[2] >= high - 0.02).all()
    assert np.array_equal(curved.along(node, found), found)


def test_numbers_near_0_are_off_by_less_and_large_ones_by_more_than_in_even_steps() -> None:
    small, large = (np.linspace(*ends, 1001)[:, None] for ends in ((0.0, 0.05), (0.9, 1.0)))
    node = layer((1.0,), (0.0,))
    off = [np.abs(curved.along(node, given) - given).max() * 255.0 for given in (small, large)]
    assert off[0] < 0.25 and 0.9 < off[1] < 1.01
