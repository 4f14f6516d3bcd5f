"""A loop that the compiler does not unroll counts once per iteration, as the virtual VideoCore IV executes it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from graphs import conv_node, dense_node, input_node, pool_node

from glsl_infer import bundle as bundles
from glsl_infer.compiler.assemble import classes_of
from glsl_infer.compiler.build import Options, build
from glsl_infer.graph import Graph, Node
from glsl_infer.tools.videocore import measure
from glsl_infer.tools.videocore.executor import Executor

SIZE = 19
CASES: dict[str, tuple[str, int, list[Node]]] = {
    "average 12x12": ("8", 8, [Node("n", "average_pool", ("c",), {"pool": (12, 12), "strides": (5, 5)})]),
    "maximum 7x12": ("8", 8, [Node("n", "max_pool", ("c",), {"pool": (7, 12), "padding": (3, 3, 5, 6)})]),
    "mean": ("8", 8, [pool_node("n", "c")]),
    "mean of 16 bits": ("16", 8, [pool_node("n", "c")]),
    "deviation": ("8", 8, [Node("n", "global_deviation", ("c",), {})]),
    "dense": ("8", 128, [pool_node("p", "c"), dense_node(np.random.default_rng(1), "n", "p", 128, 6)]),
    "softmax": ("8", 128, [pool_node("p", "c"), Node("n", "vector_softmax", ("p",), {})]),
}


def test_turns_are_counted(executor: Executor, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    paths = {}
    for name, (bits, channels, nodes) in CASES.items():
        body = (input_node(SIZE), conv_node(rng, "c", ("image",), 3, channels, activation="sigmoid"), *nodes)
        picture = rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8)
        graph = Graph(name, body, "n")
        labels = [str(index) for index in range(classes_of(graph))]
        made, _, _ = build(graph, labels, options=Options(precision=bits), calibration=[picture])
        paths[name] = tmp_path / f"{len(paths)}.glslnn"
        bundles.write(made, paths[name])
    command = [sys.executable, str(Path(__file__).with_name("job_counts.py")), *map(str, paths.values())]
    drawn = json.loads(subprocess.run(command, env=executor.environment(), capture_output=True, check=True).stdout)
    loops = 0
    for name, path in paths.items():
        made, measured = measure(path, executor.driver)
        jobs = {}
        for entry in made.manifest.passes:
            jobs.setdefault(entry.target, set()).add(entry.program)
        assert len(jobs) == len(drawn[str(path)])
        for programs, counts in zip(jobs.values(), drawn[str(path)]):
            if len(programs) == 1:
                shader = measured.programs[programs.pop()]
                assert counts["fragment_instructions"] == shader.executed * counts["groups"], name
                loops += shader.executed > shader.instructions
    assert loops >= len(CASES), "each has a loop that stays one"
