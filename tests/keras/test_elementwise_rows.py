"""A new row of ``graph/elementwise.py`` with GLSL runs on the GPU from all formats, with tensors and with constants."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from command_line import run_python

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
    check_formats()


def onnx_graph(shape: tuple[int, ...], constant: Any, *, swapped: bool) -> Any:
    import onnx_networks

    from glsl_infer.importers.onnx import load

    file = onnx_networks.File(0)
    a = file.input(shape, "a")
    b = file.input(shape, "b") if constant is None else file.constant(constant)
    file.output(file.op("LogAddExp", [b, a] if swapped else [a, b], shape))
    return load(file.model())


def tflite_graph(shape: tuple[int, ...], constant: Any, *, swapped: bool) -> Any:
    import tflite_files

    from glsl_infer.importers.tflite.file import parse
    from glsl_infer.importers.tflite.reader import to_graph

    file = tflite_files.File(0)
    a = file.input(shape, name="a")
    b = file.input(shape, name="b") if constant is None else file.constant(constant)
    return to_graph(
        parse(file.bytes([file.op("STABLEHLO_REMAINDER", [b, a] if swapped else [a, b], shape)]), "m.tflite")
    )


def keras_graph(shape: tuple[int, ...], constant: Any, *, swapped: bool) -> Any:
    import keras

    from glsl_infer.importers.keras import to_graph

    a = keras.Input(shape[1:], name="a")
    b = keras.Input(shape[1:], name="b") if constant is None else constant
    result = keras.ops.logaddexp(b, a) if swapped else keras.ops.logaddexp(a, b)
    return to_graph(keras.Model([a, b] if constant is None else a, result))


def check(case: str, graph: Any, expected: Any, *inputs: Any) -> None:
    """Require that the GPU computes the graph, with the expected result."""
    import numpy as np

    from glsl_infer.compiler.optimize import optimize
    from glsl_infer.compiler.place import place
    from glsl_infer.graph import reference

    graph = optimize(graph)
    assert [part.on_cpu for part in place(graph)] == [False], f"{case}: {[node.op for node in graph.nodes]}"
    values = {node.name: value for node, value in zip(graph.inputs, inputs)}
    (result,) = reference.run(graph, values, mode="float").values()
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5, err_msg=case)


def check_formats() -> None:
    """Check the function of two tensors, and of a tensor and each constant, in maps and in vectors."""
    import numpy as np

    rng = np.random.default_rng(4)
    maps = rng.random((2, 8, 8, 5), np.float32)
    for name, make in {"onnx": onnx_graph, "tflite": tflite_graph, "keras": keras_graph}.items():
        for size in ((8, 8, 5), (5,)):
            a, b = maps if len(size) == 3 else maps[:, 0, 0]
            layout = (2, 0, 1) if name == "onnx" and len(size) == 3 else tuple(range(len(size)))
            shape = (1, *(size[axis] for axis in layout))
            check(f"{name} {size}", make(shape, None, swapped=False), np.logaddexp(a, b), a, b)
            for case, sizes in CONSTANTS.items():
                if len(sizes) > len(size):
                    continue
                constant = rng.random(sizes, np.float32)
                operand = np.broadcast_to(constant, size).transpose(layout) if sizes else constant
                for swapped in (False, True):
                    graph = make(shape, np.array(operand), swapped=swapped)
                    check(f"{name} {size} {case} {swapped}", graph, np.logaddexp(a, constant), a)


def test_a_row_with_glsl_runs_on_the_gpu_from_all_formats() -> None:
    here = Path(__file__).resolve()
    paths = [str(here.parent.parent), str(here.parent)]
    code = f"import sys; sys.path[:0] = {paths!r}; import {here.stem}; {here.stem}.child()"
    done = run_python("-c", code)
    assert not done.returncode, done.stderr[-3000:]
