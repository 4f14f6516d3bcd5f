"""Fusion of decomposed functions: GELU with an erf, SiLU, hard swish, mish, softplus ...

A chain of operators that depends on one tensor and on scalar constants is a function of one value. It is evaluated at
many points and compared with the known functions. So the order of the operators in a file does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.graph.activations import activation
from glsl_infer.importers.core.folding import MISFITS
from glsl_infer.importers.onnx.activations import FUNCTION
from glsl_infer.importers.onnx.folding import POINTWISE, fold
from glsl_infer.importers.onnx.graph_view import Network
from glsl_infer.importers.onnx.model import Operator, Part

MOST_PIECES = 24
"""Largest number of operators of one function."""

MOST_COMPUTED = 100_000
"""Largest number of operators evaluated in a search for functions, for an entire file. Networks need hundreds or
thousands. Beyond the limit, functions stay decomposed."""

_TOLERANCE = 2e-5
_BENT = ("Clip", "Erf", "Exp", "HardSigmoid", "Max", "Min", "Relu", "Sigmoid", "Softplus", "Tanh")
"""Nonlinear operators: every known function has at least one."""

_ELEMENTWISE = {*POINTWISE, *_BENT, "HardSwish", "Identity", "Cast", "Sum"}

_FUNCTIONS = (
    "gelu",
    "gelu_tanh",
    "silu",
    "mish",
    "hard_silu",
    "hard_sigmoid",
    "softplus",
    "sigmoid",
    "log_sigmoid",
    "softsign",
    "tanh_shrink",
)

Doubles = NDArray[np.float64]


@lru_cache(maxsize=1)
def _points() -> Doubles:
    return np.concatenate([np.linspace(-9.0, 9.0, 361), np.linspace(-0.3, 0.3, 41)])


@lru_cache(maxsize=1)
def _known() -> Mapping[str, Doubles]:
    """Return the values of every known function at the test points."""
    return {name: np.asarray(activation(name)(_points()), np.float64) for name in _FUNCTIONS}


def whole(part: Part) -> Part:
    """Return the operators of a file with each decomposed function fused into its last operator."""
    network = Network(part)
    changed: dict[int, Operator] = {}
    budget = [MOST_COMPUTED]
    for place, operator in enumerate(part.operators):
        if operator.domain or operator.kind not in _ELEMENTWISE or len(operator.outputs) != 1:
            continue
        try:
            found = _function(network, place, budget)
        except MISFITS:
            continue
        if found is not None:
            root, text = found
            changed[place] = replace(operator, kind=FUNCTION + text, inputs=(root,), attributes={})
    return network.replaced(changed) if changed else part


def _function(network: Network, last: int, budget: list[int]) -> tuple[str, str] | None:
    """Return (tensor, function) of the longest chain that ends in an operator and computes a known function.

    The number of evaluated operators is subtracted from the budget.
    """
    operators = network.part.operators
    chain = [last]
    open_ = _tensors(network, operators[last])
    found = None
    while len(chain) <= MOST_PIECES and open_:
        if len(open_) == 1 and len(chain) > 1:
            budget[0] -= len(chain)
            if budget[0] < 0:
                break
            (root,) = open_
            text = _name(network, chain, root)
            found = found if text is None else (root, text)
        latest = max(open_, key=lambda name: network.makers.get(name, -1))
        place = network.makers.get(latest)
        if place is None or place in chain or place > last:
            break
        maker = operators[place]
        if maker.domain or maker.kind not in _ELEMENTWISE or len(maker.outputs) != 1:
            break
        chain.append(place)
        open_ = (open_ - {latest}) | _tensors(network, maker)
        if len(open_) > 3:
            break
    return found


def _tensors(network: Network, operator: Operator) -> set[str]:
    """Return the inputs of an operator that are not scalar constants."""
    return {name for name in operator.inputs if name and network.number(name) is None}


def _name(network: Network, chain: list[int], root: str) -> str | None:
    """Return the function that a chain of operators computes of a tensor. The chain has the last operator first."""
    operators = network.part.operators
    if not any(operators[place].kind in _BENT for place in chain):
        return None
    values: dict[str, Any] = {root: _points()}
    try:
        for place in sorted(chain):
            operator = operators[place]
            given = [values[name] if name in values else _number(network, name) for name in operator.inputs]
            results = None if operator.kind == "Cast" else fold(operator, given, 1 << 20)
            values[operator.outputs[0]] = given[0] if results is None else results[0]
    except (ModelError, KeyError):
        return None
    made = values[operators[chain[0]].outputs[0]]
    if made.shape != _points().shape or not np.isfinite(made).all():
        return None
    return next((name for name, known in _known().items() if np.abs(made - known).max() < _TOLERANCE), None)


def _number(network: Network, name: str) -> Doubles | None:
    if not name:
        return None
    value = network.number(name)
    if value is None:
        raise KeyError(name)
    return np.asarray(value, np.float64)
