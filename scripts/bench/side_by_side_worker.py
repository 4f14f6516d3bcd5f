#!/usr/bin/env python3
"""One runner of side_by_side.py, in its own process, controlled line by line.

    side_by_side_worker.py {engine,plain,everything-bound,litert,tensorflow} MODEL PICTURE.npy [--threads N]
                           [--context KIND]

Standard input: ``frames N``, any number of times. Standard output, as JSON lines: first the time of the start and the
counts of a frame, then the milliseconds of every frame. A runner is warm after its first result.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from numpy.typing import NDArray

Frames = dict[str, list[float]]


class Engine:
    """A bundle, run by this engine.

    Args:
        model: a ``.glslnn`` file.
        context: as for ``Session``.
        form: ``engine``; ``plain``, without driver-specific behaviour (``gl.llvmpipe``, ``gl.nvidia``); or
            ``everything-bound``, which also sets all state before every draw (everything_bound.py).
    """

    def __init__(self, model: Path, context: str, form: str) -> None:
        from everything_bound import everything_bound

        from glsl_infer.gl import compiler_threads, rounding
        from glsl_infer.gl import constants as GL
        from glsl_infer.gl.context import Context
        from glsl_infer.runtime.drivers import driver_of
        from glsl_infer.runtime.session import Session

        if form == "engine":
            self._session = Session(model, context=context, cache=False)
            return
        made = Context(context)
        driver = driver_of(made)
        driver.fetches_uniforms = driver.rolled_fetches = driver.draws_at_once = False
        driver.rounds_stores = rounding.is_off(made.store_threshold)
        compiler_threads.allow = lambda gl: False
        self._session = Session(model, context=made, cache=False)
        self._session.activate()
        made.gl.Disable(GL.GL_BLEND)
        if form == "everything-bound":
            self._session.frame = everything_bound(self._session.frame, self._session.bundle.manifest.passes)

    def run(self, picture: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the logits."""
        return self._session.run(picture)

    def frames(self, picture: NDArray[np.uint8], count: int) -> Frames:
        """Return milliseconds of entire frames, and of the CPU's share until all calls have returned."""
        from glsl_infer.tools.benchmark import frames

        series = frames.series(frames.many(self._session, picture, count, 0, lambda _: None))
        return {"total": series["total"], "submit": series["submit"]}

    def facts(self, picture: NDArray[np.uint8]) -> dict[str, Any]:
        """Return exact counts of a frame, and the name of the renderer."""
        from glsl_infer.tools.benchmark import frames, machine

        counts = frames.counts(self._session, picture)
        targets = (texture for texture in self._session.bundle.manifest.textures if texture.kind == "target")
        return {
            "draws": counts["draws"],
            "programs": counts["programs"],
            "jobs": counts["jobs"],
            "gl_calls": counts["gl_calls"]["frame"],
            "activation_bytes": sum(4 * texture.width * texture.height for texture in targets),
            "renderer": machine.describe(self._session.context)["renderer"],
        }


class _OnTheCpu:
    def run(self, picture: NDArray[np.uint8]) -> NDArray[np.float32]:
        raise NotImplementedError

    def frames(self, picture: NDArray[np.uint8], count: int) -> Frames:
        """Return milliseconds of entire frames."""
        times = []
        for _ in range(count):
            started = time.perf_counter()
            self.run(picture)
            times.append(1e3 * (time.perf_counter() - started))
        return {"total": times}

    def facts(self, picture: NDArray[np.uint8]) -> dict[str, Any]:
        """Return an empty dict, because a CPU has no draws to count."""
        return {}


class LiteRT(_OnTheCpu):
    """A ``.tflite`` file by LiteRT's interpreter, which uses XNNPACK."""

    def __init__(self, model: Path, threads: int) -> None:
        from ai_edge_litert.interpreter import Interpreter

        self._interpreter = Interpreter(model_path=str(model), num_threads=threads)
        self._interpreter.allocate_tensors()
        self._input = self._interpreter.get_input_details()[0]["index"]
        self._output = self._interpreter.get_output_details()[0]["index"]

    def run(self, picture: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the logits."""
        self._interpreter.set_tensor(self._input, picture[None].astype(np.float32) / 255.0)
        self._interpreter.invoke()
        logits: NDArray[np.float32] = self._interpreter.get_tensor(self._output)[0]
        return logits


class TensorFlow(_OnTheCpu):
    """A ``.keras`` file by Keras on TensorFlow, as one compiled function."""

    def __init__(self, model: Path, threads: int) -> None:
        import keras
        import tensorflow as tf

        import training.layers  # noqa: F401

        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        loaded = keras.saving.load_model(model, compile=False)
        self._function = tf.function(lambda pictures: loaded(pictures, training=False))
        self._constant = tf.constant

    def run(self, picture: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the logits."""
        logits: NDArray[np.float32] = self._function(self._constant(picture[None].astype(np.float32) / 255.0)).numpy()
        return logits[0]


def warm_imports(runner: str) -> None:
    """Import the packages of a runner, to exclude imports from its start time."""
    if runner == "litert":
        import ai_edge_litert.interpreter  # noqa: F401
    elif runner == "tensorflow":
        import tensorflow  # noqa: F401
    else:
        import glsl_infer.session  # noqa: F401
        import OpenGL.platform.egl  # noqa: F401


def main() -> int:
    """Serve until standard input ends; return the exit code."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("runner", choices=("engine", "plain", "everything-bound", "litert", "tensorflow"))
    parser.add_argument("model", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--context", default="auto")
    args = parser.parse_args()
    picture = np.load(args.picture)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # keeps the output of libraries out of the answers
    warm_imports(args.runner)
    started = time.perf_counter()
    runner: Any
    if args.runner == "litert":
        runner = LiteRT(args.model, args.threads)
    elif args.runner == "tensorflow":
        runner = TensorFlow(args.model, args.threads)
    else:
        runner = Engine(args.model, args.context, args.runner)
    ready = time.perf_counter()
    logits = runner.run(picture)
    done = time.perf_counter()
    first = {"ready": 1e3 * (ready - started), "first_result": 1e3 * (done - started)}

    def answer(data: dict[str, Any]) -> None:
        print(json.dumps(data), file=answers, flush=True)

    answer({**first, "logits": logits.tolist(), "facts": runner.facts(picture)})
    for line in sys.stdin:
        answer(runner.frames(picture, int(line.split()[1])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
