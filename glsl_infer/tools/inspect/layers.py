"""Result of each layer of a model file before any export: a shader, work for the CPU, or the reason for its refusal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from glsl_infer import importers, ops
from glsl_infer.compiler.dry_run import DryRun, dry_run
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.place import place_of
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph
from glsl_infer.importers.core.io_options import IoOptions
from glsl_infer.importers.core.report import CPU, PLACES, SHADER, ImportReport, LayerStatus

NEEDS_PICTURES = "the export needs --images DIR with typical images, because some layers have unknown ranges"


@dataclass(frozen=True)
class Inspected:
    """A model file, layer by layer.

    Attributes:
        path: the file.
        rows: one for each layer, each after those it reads.
        problems: complete messages of all problems that prevent an export.
        needs_pictures: whether an export needs calibration images.
        graph: the model, with an input in place of every refused layer; None if it cannot be built.
        warnings: differences between the file and the model read from it.
    """

    path: str
    rows: tuple[LayerStatus, ...]
    problems: tuple[str, ...]
    needs_pictures: bool
    graph: Graph | None = None
    warnings: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Number of layers by place of execution."""
        counted = Counter(row.runs for row in self.rows)
        return {processor: counted[processor] for processor in PLACES if counted[processor]}

    def as_json(self) -> dict[str, Any]:
        """Return all fields as plain data."""
        return {
            "file": self.path,
            "exports": not self.problems,
            "needs_pictures": self.needs_pictures,
            "counts": self.counts,
            "layers": [asdict(row) for row in self.rows],
            "problems": list(self.problems),
            "warnings": list(self.warnings),
        }


def inspect_file(path: Path, io_options: IoOptions | None = None) -> Inspected:
    """Return the result of each layer of a model file.

    Args:
        path: the file.
        io_options: sizes and constants of its inputs.

    Raises:
        InputError: the file cannot be read as a model, or has no such inputs.
    """
    return inspected(importers.survey(path, io_options=io_options), str(path))


def inspected(survey: ImportReport, path: str) -> Inspected:
    """Return the result of each layer of an imported model."""
    problems: list[InputError] = list(survey.problems)
    rows, needs_pictures = survey.rows, False
    if survey.graph is not None:
        try:
            optimized = optimize(survey.graph)
            result = dry_run(optimized, placeholders=survey.guessed)
        except ModelError as error:
            problems.append(error)
        else:
            problems += result.problems
            needs_pictures = bool(result.unranged)
            rows = _with_placement(rows, survey.graph, optimized, result)
    messages = tuple(str(problem) for problem in problems)
    return Inspected(path, rows, messages, needs_pictures, survey.graph, survey.warnings)


def _with_placement(
    rows: Sequence[LayerStatus], graph: Graph, optimized: Graph, result: DryRun
) -> tuple[LayerStatus, ...]:
    """Return the rows with layers refused by the compiler, and layers left to the CPU."""
    refused: dict[str, ModelError] = {}
    for error in result.problems:
        refused.setdefault(row_of(error.name or "", rows), error)
    hosted = {node.name for node in graph.nodes if ops.get(node.op).host_step(node)} - _drawn(optimized)
    processors = {
        name: CPU if node.name in result.on_cpu else place_of(node)
        for node in optimized.nodes
        for name in (*node.attrs.get("fused", ()), node.name)
    }
    return tuple(_verdict(row, refused.get(row.layer), hosted, processors) for row in rows)


def _verdict(
    row: LayerStatus, error: ModelError | None, hosted: set[str], processors: Mapping[str, str]
) -> LayerStatus:
    if error is not None:
        return row.refused(error)
    if row.runs != SHADER:
        return row
    if row.layer in hosted:
        return replace(row, runs=CPU, note="host step of an output")
    return replace(row, runs=processors.get(row.layer, SHADER))


def _drawn(small: Graph) -> set[str]:
    """Return the layers of the original network computed by nodes of an optimised graph."""
    return {name for node in small.nodes for name in (node.name, *node.attrs.get("fused", ()))}


def row_of(name: str, rows: Sequence[LayerStatus]) -> str:
    """Return the layer of a node: the one of its name, or with the longest name that is a prefix of the node's."""
    named = [row.layer for row in rows if name == row.layer or name.startswith(f"{row.layer}-")]
    return max(named, key=len, default="")
