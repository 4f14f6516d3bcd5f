"""One row of scripts/bench/precision.py: a network exported in one precision, its scores, and its cost."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from glsl_infer import bundle as bundles
from glsl_infer.compiler.assemble import classes_of
from glsl_infer.compiler.build import Options, build
from glsl_infer.compiler.ranges import PreparedGraph
from glsl_infer.errors import GlslInferError, InputError
from glsl_infer.graph import Graph
from glsl_infer.program import CompiledNetwork
from glsl_infer.support import blas
from glsl_infer.tools.videocore import driver
from glsl_infer.tools.videocore.measure import measure
from glsl_infer.tools.videocore.report import report
from precision_parts import case as cases
from precision_parts import decomposed
from precision_parts.case import Case
from precision_parts.repairs import UNCHANGED, repaired
from precision_parts.scores import Outputs

NOISE = "noise"
PLANNED = "pairs"
"""Latest addition to the costs counted by the plan that limits auto."""


@dataclass(frozen=True)
class Task:
    """A row to measure: a network and its source, the number of images, the precision, and the change of the export."""

    network: str
    folder: Path
    is_carried: bool
    pictures: int
    bits: str
    change: str = UNCHANGED
    costs: bool = False
    parts: bool = False

    def measured(self) -> dict[str, Any]:
        """Return the row: scores and cost of the exported file; for ``NOISE``, the float network's scores."""
        case, floats = known(self.network, self.folder, is_carried=self.is_carried)
        if self.bits == NOISE:
            scores = case.score(floats, case.noisy())
            return self._row(0, scores, fine=0, weights="float", work=None, draws=0)
        with self.exported(case) as (path, program, prepared):
            work = counted(path) if self.costs else None
            drawn = bundles.read(path).graph  # weights as drawn
            scores = case.score(floats, case.run(drawn, case.test, "stored"))
            parts = self._parts(case, floats, drawn, prepared.graph, scores) if self.parts else {}
        draws, sixteen_bit = len(program.passes), len(prepared.precision)
        return self._row(
            self._image_count(case), scores, fine=sixteen_bit, weights="stored", work=work, draws=draws, **parts
        )

    def _parts(
        self, case: Case, floats: list[Outputs], drawn: Graph, prepared: Graph, scores: Mapping[str, float]
    ) -> dict[str, Any]:
        """Return the scores with only the weights as drawn, only rounded maps, and only bounded ranges."""
        variants = ((drawn, decomposed.exact), (prepared, decomposed.in_steps), (prepared, decomposed.within_ends))
        all_scores = [scores] + [
            case.score(floats, decomposed.outputs(graph, case.test, how)) for graph, how in variants
        ]
        rounded = [{key: round(value, 4) for key, value in scores.items()} for scores in all_scores]
        return {"parts": dict(zip(decomposed.PARTS, rounded))}

    def counted(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row with its missing cost; its scores stay.

        Raises:
            InputError: the export differs from the one that the row was measured with.
        """
        case = _case(self.network, self.folder, is_carried=self.is_carried)
        with self.exported(case) as (path, program, prepared):
            now = (len(program.passes), len(prepared.precision))
            if now != (row["draws"], row["fine"]):
                raise InputError(f"{self.network}, {self.bits}: exported otherwise than its row; measure it again")
            result = {**row, "work": counted(path)}
        print(json.dumps(result), file=sys.stderr, flush=True)
        return result

    def _image_count(self, case: Case) -> int:
        return min(self.pictures, len(case.calibration))

    @contextmanager
    def exported(self, case: Case) -> Iterator[tuple[Path, CompiledNetwork, PreparedGraph]]:
        """Yield the exported file, its program, and the prepared graph."""
        most = self._image_count(case)
        images = [case.calibration[index * len(case.calibration) // most] for index in range(most)]
        samples = [{case.graph.input.name: picture} for picture in images]
        labels = [f"class {index}" for index in range(classes_of(case.graph))]
        with blas.one_thread(), repaired(self.change, Options(precision=self.bits)) as options:
            built, program, prepared = build(case.graph, labels, options=options, calibration=samples)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model.glslnn"
                bundles.write(built, path)
                yield path, program, prepared

    def _row(self, pictures: int, scores: Mapping[str, float], **columns: Any) -> dict[str, Any]:
        row = {
            "network": self.network,
            "pictures": pictures,
            "bits": self.bits,
            "scores": {key: round(value, 4) for key, value in scores.items()},
            **columns,
            "planned": PLANNED,
            **({} if self.change == UNCHANGED else {"change": self.change}),
        }
        print(json.dumps(row), file=sys.stderr, flush=True)
        return row


def counted(path: Path) -> int | None:
    """Return a bundle's instructions times pixels; None if VideoCore IV's driver does not work.

    Raises:
        InputError: some shaders do not compile, so their draws would cost nothing; the message has their layers.
    """
    try:
        measured_report = report(*measure(path, driver.find(None)), str(path))
    except GlslInferError as error:
        print(f"not counted: {error}", file=sys.stderr)
        return None
    failed = [row.layer for row in measured_report.rows if row.failed]
    if failed:
        raise InputError(f"VideoCore IV's compiler refuses {', '.join(failed)}: the cost without them is none")
    return measured_report.total


def measured(task: Task, row: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the row of a task, or ``row`` with its cost; for other processes."""
    return task.measured() if row is None else task.counted(row)


@cache
def known(name: str, folder: Path, *, is_carried: bool) -> tuple[Case, list[Outputs]]:
    """Return a network with its images, and its float outputs for the test images."""
    case = _case(name, folder, is_carried=is_carried)
    return case, case.run(case.graph, case.test, "float")


@cache
def _case(name: str, folder: Path, *, is_carried: bool) -> Case:
    if is_carried:
        return cases.read(folder / f"{name}.net")
    from precision_parts.networks import NETWORKS  # a machine with carried files does not have these packages

    return NETWORKS[name](folder)
