"""A new row of ``graph/elementwise.py`` with GLSL runs on the GPU from all formats, with tensors and with constants."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROW = """
    "log_add_exp": Elementwise(
        np.logaddexp, monotone, "max(a, b) + log(1.0 + exp(-abs(a - b)))",
        keras="Logaddexp", onnx="LogAddExp", tflite="STABLEHLO_REMAINDER",
    ),
"""

TABLE = "BINARY: Mapping[str, Elementwise] = {\n"

CONSTANTS = {"one": (), "channels": (5,), "pixels": (8, 8, 1), "all": (8, 8, 5)}


def child() -> None:
    """Import networks with a function of a row that only this process has, from all formats."""
    import importlib.util

    spec = importlib.util.find_spec("glsl_infer.graph.elementwise")
    assert spec is not None and spec.origin
    source = Path(spec.origin).read_text("utf-8")
    assert source.count(TABLE) == 1
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    exec(compile(source.replace(TABLE, TABLE + ROW), spec.origin, "exec"), module.__dict__)
    _check_formats()


def _check_formats() -> None:
    import keras
    import numpy as np
    import onnx_networks
    import tflite_files

    from glsl_infer.compiler.optimize import optimize
    from glsl_infer.compiler.place import place
    from glsl_infer.graph import Graph, reference
    from glsl_infer.importers.keras import to_graph as from_keras
    from glsl_infer.importers.onnx import load as from_onnx
    from glsl_infer.importers.tflite.file import parse
    from glsl_infer.importers.tflite.reader import to_graph as from_tflite

    rng = np.random.default_rng(4)
    x, y = rng.random((2, 8, 8, 5), np.float32)

    def check(case: str, graph: Graph, expected: np.ndarray, *inputs: np.ndarray) -> None:
        graph = optimize(graph)
        assert [part.on_cpu for part in place(graph)] == [False], f"{case}: {[node.op for node in graph.nodes]}"
        named = {node.name: value for node, value in zip(graph.inputs, inputs)}
        (result,) = reference.run(graph, named, mode="float").values()
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5, err_msg=case)

    def two_onnx(shape: tuple[int, ...], constant: np.ndarray | None, *, first: bool) -> Graph:
        file = onnx_networks.File(0)
        a = file.input(shape, "a")
        b = file.input(shape, "b") if constant is None else file.constant(constant)
        file.output(file.op("LogAddExp", [b, a] if first else [a, b], shape))
        return from_onnx(file.model())

    def two_tflite(shape: tuple[int, ...], constant: np.ndarray | None, *, first: bool) -> Graph:
        file = tflite_files.File(0)
        a = file.input(shape, name="a")
        b = file.input(shape, name="b") if constant is None else file.constant(constant)
        data = file.bytes([file.op("STABLEHLO_REMAINDER", [b, a] if first else [a, b], shape)])
        return from_tflite(parse(data, "m.tflite"))

    def two_keras(shape: tuple[int, ...], constant: np.ndarray | None, *, first: bool) -> Graph:
        a = keras.Input(shape[1:], name="a")
        b = keras.Input(shape[1:], name="b") if constant is None else constant
        result = keras.ops.logaddexp(b, a) if first else keras.ops.logaddexp(a, b)
        return from_keras(keras.Model([a, b] if constant is None else a, result))

    for name, make in {"onnx": two_onnx, "tflite": two_tflite, "keras": two_keras}.items():
        for size in ((8, 8, 5), (5,)):
            a, b = (x, y) if len(size) == 3 else (x[0, 0], y[0, 0])
            layout = (2, 0, 1) if name == "onnx" and len(size) == 3 else range(len(size))
            shape = (1, *(size[axis] for axis in layout))
            check(f"{name} {size}", make(shape, None, first=False), np.logaddexp(a, b), a, b)
            for case, sizes in CONSTANTS.items():
                if len(sizes) > len(size):
                    continue
                constant = rng.random(sizes, np.float32)
                broadcast = np.broadcast_to(constant, size) if sizes else constant
                operand = broadcast.transpose(tuple(layout)) if sizes else constant
                for first in (False, True):
                    graph = make(shape, np.array(operand), first=first)
                    check(f"{name} {size} {case} {first}", graph, np.logaddexp(a, constant), a)


def test_a_row_with_glsl_runs_on_the_gpu_from_all_formats() -> None:
    here = Path(__file__).resolve()
    paths = [str(here.parent.parent), str(here.parent)]
    code = f"import sys; sys.path[:0] = {paths!r}; import {here.stem}; {here.stem}.child()"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert not done.returncode, done.stderr[-3000:]
