"""What an importer says of each layer of a model: where it runs, or why not and what to do instead.

Every importer has a function ``survey(path, ends)`` that returns a ``Survey``; ``importers.survey`` finds it by the
file's name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from glsl_infer import cpu
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph, Shape

SHADER, CPU, DROPPED, REFUSED, UNKNOWN = PLACES = ("shader", "CPU", "dropped", "refused", "unknown")
"""Where a layer runs. Unknown: it stands behind a refused layer whose output nobody knows."""


def runs(operators: Iterable[str]) -> str:
    """Return where operators run unless placement moves them: on the CPU if one of them has no shader."""
    return CPU if any(name in cpu.KERNELS or name == cpu.CUSTOM for name in operators) else SHADER


@dataclass(frozen=True)
class LayerVerdict:
    """One row of the table: a layer of the model, as the model's own framework names it.

    Attributes:
        layer: its name; a layer of a model inside the model is ``inner/layer``.
        kind: its class or its operation.
        shape: of its output, without the batch axis; None for a size that is not known.
        runs: one of ``PLACES``.
        operators: the operators of the graph that it becomes, before optimising.
        note: for the person: what is dropped and why, or which host step it is.
        problem: why it is refused.
        advice: what to do instead.
    """

    layer: str
    kind: str
    shape: tuple[int | None, ...]
    runs: str
    operators: tuple[str, ...] = ()
    note: str = ""
    problem: str = ""
    advice: str = ""

    def refused(self, error: ModelError) -> LayerVerdict:
        """Return the row of the same layer, refused."""
        given, advice = (error.given, error.advice) if error.name else (str(error), "")
        return replace(self, runs=REFUSED, problem=given, advice=advice)


@dataclass(frozen=True)
class Survey:
    """All that an importer knows of a model, whether it can be exported or not.

    Attributes:
        rows: one for each layer, each after those that it reads.
        graph: the model, with an input in place of every refused layer; None where not even that can be made.
        guessed: the names of these inputs.
        problems: what the importer cannot export, in the order of the rows, then what concerns the model as a whole.
        warnings: what of the file is not read.
        convertible: whether TensorFlow's converter may read what this importer refuses.
    """

    rows: tuple[LayerVerdict, ...]
    graph: Graph | None
    guessed: frozenset[str] = frozenset()
    problems: tuple[InputError, ...] = ()
    warnings: tuple[str, ...] = ()
    convertible: bool = False

    def whole(self) -> Graph:
        """Return the graph.

        Raises:
            ModelError: problems of layers, all of them.
            InputError: other problems.
        """
        layers = [problem for problem in self.problems if isinstance(problem, ModelError)]
        if layers:
            raise layers[0] if len(layers) == 1 else ModelError("\n  ".join(map(str, layers)))
        if self.problems:
            raise self.problems[0]
        assert self.graph is not None
        return self.graph


def guess(shape: Shape) -> dict[str, Any] | None:
    """Return the attributes of an input that stands for a refused layer; None where no input has such a shape."""
    if len(shape) == 3:
        return {"shape": shape, "fit": None, "scales": (1.0,), "zeros": (0.0,)}
    return {"shape": shape, "low": -1.0, "high": 1.0} if len(shape) == 1 else None
