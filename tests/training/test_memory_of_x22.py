"""Activation memory of X22 at 385x385 with each planner, without the input texture."""

import pytest
from memory_cases import installed

from glsl_infer.compiler import lower
from glsl_infer.compiler.calibration_maps import compute_maps
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import prepare
from glsl_infer.importers.keras import to_graph
from glsl_infer.lowering.calibration_maps import CalibrationMaps
from glsl_infer.lowering.target import Target
from training.models import x22

pytestmark = pytest.mark.exhaustive

BEATMUP, GOAL = 5.6e6, 3.8e6

TAKEN = {"naive": 10_046_296, "greedy": 3_739_280, "by-size": 3_737_516, "flow": 3_739_244}
"""Bytes for each planner. The three largest layers, alive in one step, take 3,519,044."""


@pytest.fixture(scope="module")
def graph():
    return prepare(optimize(to_graph(x22(385)))).graph


@pytest.fixture(scope="module")
def maps(graph):
    return compute_maps(graph, ())


@pytest.fixture(scope="module")
def typical(maps):
    return CalibrationMaps(lambda: maps)


@pytest.mark.parametrize("method", installed())
def test_atlas(graph, typical, method):
    made = lower.to_program(graph, Target(weights="uniform", memory=method), maps=typical)
    taken = sum(4 * one.width * one.height for one in made.textures if one.kind == "target")
    assert taken <= (GOAL if method != "naive" else 2 * BEATMUP)
    assert taken == TAKEN[method]


def test_planar_is_below_the_articles_engine(graph, maps):
    typical = CalibrationMaps(lambda: maps)
    made = lower.to_program(graph, Target(weights="uniform", layout="planar", memory="by-size"), maps=typical)
    assert sum(4 * one.width * one.height for one in made.textures if one.kind == "target") == 4_115_468 < BEATMUP
