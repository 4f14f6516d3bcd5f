"""The networks of the AI Benchmark have the parameter counts of the paper's table and non-constant signals."""

from __future__ import annotations

import numpy as np
import pytest

from glsl_infer.tools.aibench.tests import TESTS
from training.aibench.build import batch, build
from training.aibench.networks import NETWORKS, Network

SMALL = {"srcnn": (24, 24), "vdsr": (24, 24), "srgan": (16, 16), "icnet": (192, 192), "dped": (16, 24)}
"""Image sizes (height, width) that are quick to compute and do not change the parameters."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.name)
def test_parameters_are_the_papers(network: Network) -> None:
    size = SMALL.get(network.name, (160, 160))
    count = network.build(*size).count_params()
    assert abs(count / network.parameters - 1.0) <= 0.03 or network.difference, f"{count} parameters"


def test_the_command_knows_the_same_networks() -> None:
    ours = {network.name: (network.width, network.height, network.values) for network in NETWORKS}
    assert {test.network: (test.width, test.height, test.values) for test in TESTS} == ours


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["srcnn", "vdsr", "srgan", "dped"])
def test_signals_live_and_weights_are_the_same_each_time(name: str) -> None:
    (network,) = (entry for entry in NETWORKS if entry.name == name)
    height, width = SMALL[name]
    first, second = build(network, height, width), build(network, height, width)
    pictures = batch(network, height, width, first.input_shape[-1])
    values = np.asarray(first(pictures))
    assert np.array_equal(values, np.asarray(second(pictures)))
    assert np.isfinite(values).all() and 0.01 < values.std() < 10.0
    assert np.abs(values[0] - values[1]).mean() > 0.01, "it does not look at the picture"
