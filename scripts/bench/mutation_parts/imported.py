"""Networks imported from Keras once, and compiled by the process of their tests.

The suite exports the operator table's rows and the small models once, and reuses them while the files of the package
are unchanged. Mutants change no file, so ``install`` compiles each network on first use. Its files are written by

    python scripts/bench/mutation_parts/imported.py FOLDER     # needs TensorFlow
"""

from __future__ import annotations

import argparse
import pickle
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts/docs")]

import numpy as np  # noqa: E402

from glsl_infer.graph import Graph, Node  # noqa: E402


def install(folder: Path) -> None:
    """Replace the exported rows and small models by ones compiled in this process on first use."""
    import needs
    import shared_exports
    import small_models
    from operator_table import ROWS, exported

    installed = needs.installed
    needs.installed = lambda name, *arguments: None if name == "keras" else installed(name, *arguments)
    shared_exports.made_once = lambda name, make, sources=(): folder / name
    rows = {row.name: row for row in ROWS}
    every_row = _Lazy(rows, lambda name: _row(folder / "rows", rows[name]))
    exported.read = lambda _: every_row
    small_models.exported = cache(lambda name: _model(folder / "models", name))


class _Lazy(Mapping[str, Any]):
    """A mapping with values computed on first use."""

    def __init__(self, names: Any, make: Callable[[str], Any]) -> None:
        self._names, self._make = list(names), cache(make)

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __or__(self, updates: Mapping[str, Any]) -> _Lazy:
        """Return this mapping: it already has all rows, of which the suite joins two samples."""
        return self

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _write(graph: Graph, path: Path, **facts: Any) -> None:
    """Write a graph, and facts about it, as plain data, because pickle refuses the read-only mappings of nodes."""
    nodes = [(node.name, node.op, node.inputs, dict(node.attrs), dict(node.weights)) for node in graph.nodes]
    path.write_bytes(pickle.dumps((graph.name, nodes, graph.outputs, facts)))


def _read(path: Path) -> tuple[Graph, dict[str, Any]]:
    """Read the graph and the facts of ``_write``; pickle is safe only for files from the project's own processes."""
    name, nodes, outputs, facts = pickle.loads(path.read_bytes())
    return Graph(name, tuple(Node(*node) for node in nodes), outputs), facts


def _through_a_file(bundle: Any) -> Any:
    """Return a bundle after writing it to a file and reading it."""
    import tempfile

    from glsl_infer import bundle as bundles

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "row.glslnn"
        bundles.write(bundle, path)
        return bundles.read(path)


def _row(folder: Path, row: Any) -> Any:
    """Return an exported row, as from scripts/docs/operators_keras.py and ``exported.read``."""
    from operator_table import exported, models

    graph, facts = _read(folder / f"{row.name}.graph")
    bundle, calibrated = models.bundle_of(graph, models.pictures(row)[1:])
    without = None
    if row.without is not None:
        shape = (row.size, row.size, row.channels)
        pictures = [np.full(shape, value, np.uint8) for value in (0, 255)]
        without = _through_a_file(models.bundle_of(_read(folder / f"{row.name}.without.graph")[0], pictures)[0])
    softmax = models.ends_in_softmax(graph)
    return exported.Exported(row, _through_a_file(bundle), without, calibrated, softmax, **facts)


def _model(folder: Path, name: str) -> Any:
    """Return an exported model, as from tests/small_models.py."""
    import tempfile

    import small_models

    from glsl_infer import bundle as bundles
    from glsl_infer.compiler.assemble import classes_of
    from glsl_infer.compiler.delegate import build
    from glsl_infer.compiler.optimize import optimize

    (graph, _), seed = _read(folder / f"{name}.graph"), zlib.crc32(name.encode())
    inputs = [small_models.random_inputs(graph, seed + index) for index in range(small_models.PICTURES + 1)]
    labels = [f"class {index}" for index in range(classes_of(optimize(graph)))]
    path = Path(tempfile.mkdtemp(prefix="mutate-")) / f"{name}.glslnn"
    bundles.write(build(graph, labels, calibration=inputs[1:]).bundle, path)
    return small_models.Exported("", 0.0, 1.0, path, inputs[0])


def main() -> int:
    """Import everything with Keras, or only the named parts: rows, models."""
    kinds = {"rows": _write_rows, "models": _write_models}
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(kinds)} (default: all)")
    args = parser.parse_args()
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/gl"), str(ROOT)]
    import operators_keras  # noqa: F401  it sets Keras' variables first

    for kind in args.parts or kinds:
        (args.folder / kind).mkdir(parents=True, exist_ok=True)
        kinds[kind](args.folder / kind)
    return 0


def _write_rows(folder: Path) -> None:
    from operator_table import ROWS, models

    from glsl_infer.importers.keras import to_graph

    for row in ROWS:
        model = models.row_model(row)
        graph, picture = to_graph(model, row.input_range), models.pictures(row)[0]
        expected = models.expected(row, model, picture)
        _write(graph, folder / f"{row.name}.graph", picture=picture, expected=expected)
        if row.without is not None:
            baseline = to_graph(models.model_of(row.without, (row.size, row.size, row.channels)))
            _write(baseline, folder / f"{row.name}.without.graph")


def _write_models(folder: Path) -> None:
    import keras
    import small_models

    from glsl_infer.errors import InputError
    from glsl_infer.importers.keras import to_graph
    from models import NAMES, build

    for name in NAMES:
        keras.utils.clear_session(free_memory=False)
        model = small_models.with_weights(build(name), zlib.crc32(name.encode()))
        try:
            _write(to_graph(model), folder / f"{name}.graph")
        except InputError as error:
            print(f"{name}: {error}")


if __name__ == "__main__":
    sys.exit(main())
