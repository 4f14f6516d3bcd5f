"""No more bytes differ on the virtual VideoCore IV than in tests/vc4/pixels.json, for models and random networks.

No layer of a shipped model is biased by more than ``MOST_MEAN`` for the probe.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pixel_budget
import pytest
from pixel_budget import exceeding, of_model, of_networks

from glsl_infer.tools.videocore import Driver
from glsl_infer.tools.videocore import executor as executors
from glsl_infer.tools.videocore.executor import Executor
from glsl_infer.tools.videocore.pixels import Pixels, compare

pytestmark = pytest.mark.exhaustive

MODELS = sorted((pixel_budget.ROOT / "models").glob("*.glslnn"))
ASKED = "if that is meant, run python scripts/vc4/pixel_budget.py --write and commit tests/vc4/pixels.json with it"

MOST_MEAN = 0.002
"""Largest mean error of a layer, in stored steps."""


@pytest.fixture(scope="module")
def stored() -> Any:
    return json.loads(pixel_budget.STORED.read_text("utf-8"))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_differences_of_the_models_are_within_the_budget(
    stored: Any, compared: Callable[[Path], tuple[Pixels, ...]], path: Path
) -> None:
    drawn = compared(path)
    assert list(exceeding(stored["models"][path.stem], of_model(drawn))) == [], ASKED
    assert [layer.layer for layer in drawn[0].layers if layer.values > 5000 and abs(layer.mean) > MOST_MEAN] == []


@pytest.mark.parametrize("name", ["trashnet-x22-129", "superres-x2-96"])
def test_other_compilers_draw_the_same(stored: Any, drivers: tuple[Driver, ...], name: str) -> None:
    """Other compilers draw the small models with the same errors.

    With Mesa 25, a GPU that rounds sums to nearest was once mistaken for one that truncates them.
    """
    for driver in drivers[1:]:
        drawn = compare(pixel_budget.ROOT / f"models/{name}.glslnn", executors.find(driver))
        assert list(exceeding(stored["models"][name], of_model(drawn))) == [], driver.version


@pytest.mark.parametrize("name", [path.stem for path in MODELS if "x22" in path.stem])
def test_cuts_cost_about_twice_the_bytes(stored: Any, name: str) -> None:
    """Truncation at most doubles the differing bytes, apart from 30 more.

    Few bytes differ with rounding to nearest, so their number varies by chance.
    """
    sums = {rounding: sum(layers.values()) for rounding, layers in stored["models"][name].items()}
    assert sums["hardware"] <= 2 * sums["nearest"] + 30


def test_random_networks_of_every_operator(stored: Any, executor: Executor) -> None:
    """Random networks of two seeds stay within the budget; the script draws the other seeds."""
    assert len(stored["networks"]) >= 200
    networks = of_networks([1, 3], executor)
    assert len(networks) >= 34
    for name, counts in networks.items():
        assert list(exceeding(stored["networks"][name], counts)) == [], f"{name}: {ASKED}"


def test_differences_beyond_chance_are_reported() -> None:
    assert list(exceeding({"nearest": {"a": 20}}, {"nearest": {"a": 25}})) == []
    assert list(exceeding({"nearest": {"a": 20}}, {"nearest": {"a": 26}, "hardware": {"b": 3}})) == [
        "a, nearest: 26 bytes differ, 20 did"
    ]
