"""The import report: for each layer of a model, where it runs, or why it is not supported and the alternative.

Every importer has a function ``survey(path, input_range, io_options)`` that returns an import report.
``importers.survey`` selects the importer by the file's name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from glsl_infer import cpu
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph, Shape

SHADER, CPU, DROPPED, REFUSED, UNKNOWN = PLACES = ("shader", "CPU", "dropped", "refused", "unknown")
"""Execution place of a layer. Unknown: it is after an unsupported layer whose output has an unknown shape."""

AFTER_UNKNOWN = "comes after a layer whose output is not known"
"""Note of a layer with the status unknown."""


def runs(operators: Iterable[str]) -> str:
    """Return where operators run without placement: on the CPU if one of them does not have a shader."""
    return CPU if any(name in cpu.KERNELS or name == cpu.CUSTOM for name in operators) else SHADER


@dataclass(frozen=True)
class LayerStatus:
    """One row of the table: a layer of the model, in the terms of the model's framework.

    Attributes:
        layer: its name. A layer of a nested model is ``inner/layer``.
        kind: its class or its operation.
        shape: shape of its output without the batch axis, with None for an unknown size.
        runs: one of ``PLACES``.
        operators: its operators in the graph, before optimisation.
        note: a note for the user: the dropped part and the reason, or the host step.
        problem: why it is refused.
        advice: how to avoid the problem.
    """

    layer: str
    kind: str
    shape: tuple[int | None, ...]
    runs: str
    operators: tuple[str, ...] = ()
    note: str = ""
    problem: str = ""
    advice: str = ""

    def refused(self, error: ModelError) -> LayerStatus:
        """Return the row of the same layer, with the status refused."""
        problem, advice = (error.problem, error.advice) if error.name else (str(error), "")
        return replace(self, runs=REFUSED, problem=problem, advice=advice)


@dataclass(frozen=True)
class ImportReport:
    """The result of reading a model, whether or not it can be exported.

    Attributes:
        rows: one for each layer, in topological order.
        graph: the model, with a placeholder input for every refused layer; None if a placeholder is not possible.
        guessed: the names of the placeholders.
        problems: errors in the order of the rows, then errors of the entire model.
        warnings: parts of the file that were ignored.
        convertible: whether TensorFlow's converter may support the refused layers.
    """

    rows: tuple[LayerStatus, ...]
    graph: Graph | None
    guessed: frozenset[str] = frozenset()
    problems: tuple[InputError, ...] = ()
    warnings: tuple[str, ...] = ()
    convertible: bool = False

    def whole(self) -> Graph:
        """Return the complete graph.

        Raises:
            ModelError: the problems of all layers.
            InputError: the first of the other problems.
        """
        layers = [problem for problem in self.problems if isinstance(problem, ModelError)]
        if layers:
            raise layers[0] if len(layers) == 1 else ModelError("\n  ".join(map(str, layers)))
        if self.problems:
            raise self.problems[0]
        assert self.graph is not None
        return self.graph


def guess(shape: Shape) -> dict[str, Any] | None:
    """Return the attributes of a placeholder input for a refused layer; None if inputs cannot have the shape."""
    if len(shape) == 3:
        return {"shape": shape, "fit": None, "scales": (1.0,), "zeros": (0.0,)}
    return {"shape": shape, "low": -1.0, "high": 1.0} if len(shape) == 1 else None
