"""The operator added in CONTRIBUTING.md, in a bundle for all runners, none of which needs a change.

``written(folder)`` follows the page in a copy of the project. The copy then runs this module as a program, which writes
the bundle.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SIZE = 6
PADDING = (2, 1, 3, 0)
LABELS = ("first", "second", "third")

_BUNDLE, _PICTURE, _EXPECTED = "new_operator.glslnn", "picture.rgb", "expected.json"


@dataclass(frozen=True)
class NewOperator:
    """A bundle with a layer of the new operator, which has a new attribute, and the expected output.

    Attributes:
        bundle: path of the file.
        picture: uint8 (SIZE, SIZE, 3).
        output: the logits of the exact reference, one for each of ``LABELS``.
        tolerance: largest error of a logit, from the bundle's own probe.
    """

    bundle: Path
    picture: NDArray[np.uint8]
    output: tuple[float, ...]
    tolerance: float


def write_by_copy(folder: Path) -> NewOperator:
    """Follow CONTRIBUTING.md in a copy of the project under ``folder``, and write the bundle with the copy."""
    from contributing import copy_with_operator, run_command  # reads CONTRIBUTING.md, which is not in the copy

    copy = copy_with_operator(folder / "copy")
    run_command(copy, sys.executable, "tests/new_operator.py", str(folder))
    expected = json.loads((folder / _EXPECTED).read_text("utf-8"))
    picture = np.frombuffer((folder / _PICTURE).read_bytes(), np.uint8).reshape(SIZE, SIZE, 3)
    return NewOperator(folder / _BUNDLE, picture, tuple(expected["output"]), expected["tolerance"])


def _write(folder: Path) -> None:
    """Write the three files, in a copy whose ``glsl_infer`` has the operator."""
    from graphs import conv_node, dense_node, input_node, pool_node

    from glsl_infer import bundle as bundles
    from glsl_infer.compiler import lower
    from glsl_infer.compiler.assemble import to_bundle
    from glsl_infer.compiler.ranges import prepare
    from glsl_infer.graph import Graph, Node, reference

    rng = np.random.default_rng(20)
    nodes = (
        input_node(SIZE),
        conv_node(rng, "a", ("image",), 3, 6),
        Node("mirrored", "reflection_padding", ("a",), {"padding": PADDING}),
        conv_node(rng, "b", ("mirrored",), 6, 4, kernel=(3, 3)),
        pool_node("pool", "b"),
        dense_node(rng, "logits", "pool", 4, len(LABELS)),
    )
    bundle = to_bundle(lower.to_program(prepare(Graph("new_operator", nodes, "logits")).graph), LABELS)
    bundles.write(bundle, folder / _BUNDLE, read_back=True)
    picture = rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8)
    (folder / _PICTURE).write_bytes(picture.tobytes())
    expected = {
        "output": reference.run(bundle, picture).tolist(),
        "tolerance": bundle.manifest.probe.outputs[0].max_error,
    }
    (folder / _EXPECTED).write_text(json.dumps(expected), "utf-8")


if __name__ == "__main__":
    _write(Path(sys.argv[1]))
