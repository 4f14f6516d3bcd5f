"""A dry run of compilation finds every obstacle of a network, without calibration images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from graphs import conv_node, dense_node, input_node
from PIL import Image

from glsl_infer.compiler.dry_run import dry_run
from glsl_infer.compiler.optimize import optimize
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.tools.export import export


def network(*body: Node, outputs: tuple[str, ...]) -> Graph:
    rng = np.random.default_rng(0)
    first = [input_node(33), conv_node(rng, "stem", ("image",), 3, 5, activation="relu")]
    return Graph("n", [*first, *body], [GraphOutput(name, (name,), (), "values") for name in outputs])


def two_problems() -> Graph:
    """Return a network with two unsupported layers."""
    rng = np.random.default_rng(1)
    return network(
        Node("shaped", "reshape", ("stem",), {"shape": (11, 99, 5)}),
        conv_node(rng, "middle", ("shaped",), 5, 4, activation="linear"),
        Node("flat", "flatten", ("middle",)),
        dense_node(rng, "head", "flat", 11 * 99 * 4, 2),
        Node("again", "reshape", ("stem",), {"shape": (99, 11, 5)}),
        outputs=("head", "again"),
    )


def layers(names: object) -> set[str]:
    """Return the layers of nodes. The optimiser can split one into several."""
    return {str(name).partition("-")[0] for name in names}  # type: ignore[attr-defined]


@pytest.mark.slow
def test_all_problems_are_found_in_one_run() -> None:
    result = dry_run(optimize(two_problems()), delegate=False)
    assert layers(error.name for error in result.problems) >= {"shaped", "again"}
    assert all(error.advice for error in result.problems)
    assert not result.on_cpu


@pytest.mark.slow
def test_layers_without_a_shader_run_on_the_cpu() -> None:
    result = dry_run(optimize(two_problems()))
    assert layers(result.on_cpu) >= {"shaped", "again"}
    assert not {error.name for error in result.problems} & result.on_cpu


def test_ranges_that_need_images_are_not_reported_as_problems() -> None:
    rng = np.random.default_rng(2)
    result = dry_run(optimize(network(conv_node(rng, "end", ("stem",), 5, 4, activation="sigmoid"), outputs=("end",))))
    assert not result.problems
    assert [error.name for error in result.unranged] == ["stem"]


def test_a_tensor_of_rows_hides_only_its_readers() -> None:
    rows = Node("rows", "tensor_reshape", ("stem",), {"shape": (33 * 33, 5)})
    bad = Node("bad", "reshape", ("stem",), {"shape": (11, 99, 5)})
    graph = network(rows, Node("best", "tensor_argmax", ("rows",), {"axis": 0}), bad, outputs=("best", "bad"))
    result = dry_run(optimize(graph))
    assert layers(result.on_cpu) >= {"rows", "best", "bad"}
    assert not result.problems


def test_a_successful_export_optimises_once_without_a_dry_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    optimised: list[Graph] = []

    def counted(graph: Graph) -> Graph:
        optimised.append(graph)
        return optimize(graph)

    monkeypatch.setattr("glsl_infer.compiler.optimize.optimize", counted)
    monkeypatch.setattr("glsl_infer.tools.export.dry_run", None)
    rng = np.random.default_rng(4)
    graph = network(conv_node(rng, "end", ("stem",), 5, 4, activation="sigmoid"), outputs=("end",))
    labels = tmp_path / "labels.txt"
    labels.write_text("a\n")
    pictures = [tmp_path / f"{index}.png" for index in range(2)]
    for path in pictures:
        Image.fromarray(rng.integers(0, 256, (33, 33, 3), np.uint8)).save(path)
    export(graph, tmp_path / "model.glslnn", calibration=pictures)
    assert optimised == [graph]
    with pytest.raises(InputError, match="which has no classes"):
        monkeypatch.setattr("glsl_infer.tools.export.dry_run", dry_run)
        export(graph, tmp_path / "model.glslnn", labels, calibration=pictures)
    assert optimised == [graph, graph]
