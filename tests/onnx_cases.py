"""The cases of onnx.backend.test from the package ``onnx``, and the subsets for which the suite has goals."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx_backend import Case

from glsl_infer.importers.onnx.operators import OPERATORS

NODE = "node"
FOLDERS = ("pytorch-converted", "pytorch-operator", "simple")
"""Folders of complete models. The data is the same from onnx 1.16.2 to the newest version."""

MAP = "one operator of ours on a picture"
OPERATOR = "one operator of ours"
VISION = "models of 2-D vision"

GOALS = {MAP: 90, OPERATOR: 200}


def cases() -> Iterator[Case]:
    """Yield all cases, those of one operator first."""
    yield from of_operators()
    for folder in FOLDERS:
        for path in sorted((Path(onnx.__file__).parent / "backend/test/data" / folder).glob("test_*/model.onnx")):
            yield _from_folder(path, folder)


def of_operators() -> Iterator[Case]:
    """Yield the cases of one operator; onnx takes seconds to generate them."""
    from onnx.backend.test.loader import load_node_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = load_node_model_tests()
    for case in sorted(loaded, key=lambda case: case.name):
        if case.model is not None and case.data_sets:
            fed, expected = case.data_sets[0]
            yield Case(case.name, NODE, case.model, tuple(map(_array, fed)), tuple(map(_array, expected)))


def goals_of(case: Case) -> list[str]:
    """Return the goal subsets of a case.

    One operator of ours: the model is a single ONNX operator of the importer's table, and first reads a tensor of
    32-bit floats. On a picture: this tensor is (1, channels, height, width). Models of 2-D vision: from PyTorch, only
    with operators of the table, and with a first input of floats with four axes.
    """
    first = case.inputs[0] if case.inputs else None
    nodes = case.model.graph.node
    supported = all(node.op_type in OPERATORS and node.domain in ("", "ai.onnx") for node in nodes)
    if not supported or not isinstance(first, np.ndarray):
        return []
    if case.kind in FOLDERS:
        vision = case.kind.startswith("pytorch") and first.ndim == 4 and first.dtype == np.float32
        return [VISION] if vision else []
    if len(nodes) != 1 or first.dtype != np.float32:
        return []
    return [OPERATOR, *([MAP] if first.ndim == 4 and first.shape[0] == 1 else [])]


def _from_folder(path: Path, kind: str) -> Case:
    data = path.parent / "test_data_set_0"
    fed, expected = (
        tuple(_read(data / f"{role}_{index}.pb") for index in range(len(list(data.glob(f"{role}_*.pb")))))
        for role in ("input", "output")
    )
    return Case(path.parent.name, kind, onnx.load(path), fed, expected)


def _read(path: Path) -> Any:
    tensor = onnx.TensorProto()
    try:
        tensor.ParseFromString(path.read_bytes())
        return numpy_helper.to_array(tensor)
    except Exception:  # for example a sequence
        return None


def _array(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic) else value
