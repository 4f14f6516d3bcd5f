"""Run a Keras file in LiteRT: ``convert FILE.keras FILE.tflite``, then ``time FILE.tflite`` in another process."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

PICTURES, SECONDS = 20, 60.0
LEAST_KEPT = 0.9
"""Smallest share of the parameters in the converted file, as batch norms are folded into convolutions."""

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))


def convert(model: Path, out: Path) -> None:
    """Write a .tflite file with float weights.

    Raises:
        RuntimeError: the file is too small for the weights: LiteRT would compute without them, and without fast
            kernels.
    """
    import keras
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    from glsl_infer.importers.keras import layers  # noqa: F401 - some networks have these

    network = keras.saving.load_model(model, compile=False)
    signature = [tf.TensorSpec((1, *network.input_shape[1:]), tf.float32)]
    function = tf.function(lambda picture: network(picture, training=False), input_signature=signature)
    frozen = convert_variables_to_constants_v2(function.get_concrete_function())
    data = tf.lite.TFLiteConverter.from_concrete_functions([frozen]).convert()
    if len(data) < 4 * network.count_params() * LEAST_KEPT:
        raise RuntimeError(f"{out}: {len(data)} bytes cannot hold {network.count_params()} weights")
    out.write_bytes(data)


def timed(model: Path) -> dict[str, float]:
    """Return the mean milliseconds of an image on one thread, without the first two images."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(model), num_threads=1)
    interpreter.allocate_tensors()
    entry = interpreter.get_input_details()[0]
    picture = np.random.default_rng(0).random(tuple(entry["shape"]), np.float32)
    times: list[float] = []
    begun = time.perf_counter()
    while len(times) < PICTURES and (len(times) < 3 or time.perf_counter() - begun < SECONDS):
        started = time.perf_counter()
        interpreter.set_tensor(entry["index"], picture)
        interpreter.invoke()
        times.append(1e3 * (time.perf_counter() - started))
    return {"pictures": len(times), "ms": float(np.mean(times[2:]))}


if __name__ == "__main__":
    if sys.argv[1] == "convert":
        convert(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        print(json.dumps(timed(Path(sys.argv[2]))))
