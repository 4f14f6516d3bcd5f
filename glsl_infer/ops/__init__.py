"""Operators: one module each, with its shape rule, its NumPy reference and its passes.

To add an operator, add a module with a public ``OPERATOR``, and usually a template in shaders/. Its file name is its
name in a graph. ``on_cpu`` has the operators without a shader.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from glsl_infer import cpu
from glsl_infer.errors import ModelError
from glsl_infer.ops import on_cpu
from glsl_infer.ops.operator import Operator

__all__ = ["Operator", "get", "names"]


_NO_OPERATORS = ("convolution_window", "norm_rules", "on_cpu", "operator", "traits")


@cache
def names() -> tuple[str, ...]:
    """Return the names of all operators with a module in this package, in alphabetical order."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name not in _NO_OPERATORS))


@cache
def get(name: str) -> Operator:
    """Return the operator with this name: of a module, of the CPU, or ``cpu:NAME`` for one moved to the CPU.

    Raises:
        ModelError: the name is unknown.
    """
    if name.startswith(cpu.FORCED):
        return on_cpu.MovedToCpu(get(name.removeprefix(cpu.FORCED)))
    without_shader = on_cpu.named(name)
    if without_shader is not None:
        return without_shader
    if name not in names():
        raise ModelError(f"no operator is called '{name}'; there are: {', '.join(names())}")
    operator: Operator = importlib.import_module(f"{__name__}.{name}").OPERATOR
    return operator
