"""The process that converts a model to TensorFlow Lite: ``python -m glsl_infer.importers.conversion_job JOB.json``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from glsl_infer.cpu import custom
from glsl_infer.errors import InputError, ModelError
from glsl_infer.importers import keras as keras_importer
from glsl_infer.importers import own_modules
from glsl_infer.support.child_process import execute

_READS_FILES = ("ReadFile", "WriteFile", "MatchingFiles", "PyFunc", "PyFuncStateless", "EagerPyFunc", "XlaLaunch")
"""Operations by which a SavedModel could access files or run other code."""


def work(job: dict[str, Any]) -> None:
    """Convert ``job["model"]`` and write the file ``job["out"]``."""
    own_modules.remember(job["imports"])
    custom.load_all(job["operators"])
    path = Path(job["model"])
    version = keras_importer.version()
    if "tensorflow" not in version:
        raise InputError(f"{path}: converting it needs TensorFlow, and Keras runs on another backend ({version})")
    converter = _of_saved_model(path) if path.is_dir() else _of_keras(path, dict(job["sizes"]))
    try:
        data = converter.convert()
    except Exception as error:  # TensorFlow raises a dozen exception classes here
        raise ModelError(f"{path}: TensorFlow cannot convert it to TensorFlow Lite ({_reason(error)})") from error
    Path(job["out"]).write_bytes(data)


def _of_saved_model(path: Path) -> Any:
    import tensorflow as tf

    signatures = _signatures(path)
    try:
        return tf.lite.TFLiteConverter.from_saved_model(str(path), signature_keys=signatures)
    except Exception as error:
        raise ModelError(f"{path}: TensorFlow cannot load it ({_reason(error)})") from error


def _signatures(path: Path) -> list[str]:
    """Return the signatures of a SavedModel to convert: the default one, or all if it does not have it.

    Raises:
        ModelError: the model does not have a signature, or has an operation that accesses files or runs other code.
            The message names the first.
    """
    import tensorflow as tf
    from tensorflow.core.protobuf import saved_model_pb2

    model = saved_model_pb2.SavedModel()
    try:
        model.ParseFromString((path / "saved_model.pb").read_bytes())
    except Exception as error:
        raise ModelError(f"{path}: a damaged SavedModel ({_reason(error)})") from None
    for graph in model.meta_graphs:
        functions = [node for function in graph.graph_def.library.function for node in function.node_def]
        for node in (*graph.graph_def.node, *functions):
            if node.op in _READS_FILES:
                raise ModelError(
                    f"{path}: holds the operation {node.op}, which does more than compute; nothing of it was run; do "
                    "not trust this model"
                )
    signatures = [name for graph in model.meta_graphs for name in graph.signature_def if not name.startswith("__")]
    if not signatures:
        advice = "save it with tf.saved_model.save(model, folder, signatures=FUNCTION)"
        raise ModelError(f"{path}: a SavedModel without a signature, so its inputs are unknown; {advice}")
    default = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    return [default] if default in signatures else sorted(set(signatures))


def _of_keras(path: Path, sizes: dict[str, list[int]]) -> Any:
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    model = keras_importer.load_model(path)
    if sizes:
        model = keras_importer.with_sizes(model, {name: (size[0], size[1]) for name, size in sizes.items()})
    signature = _signature(model, path)

    @tf.function(input_signature=[signature])  # type: ignore[untyped-decorator]
    def serve(inputs: Any) -> Any:
        return model(inputs, training=False)

    # The converter keeps variables of Keras 3 as variables, which a TensorFlow Lite file would read at its start.
    frozen = convert_variables_to_constants_v2(serve.get_concrete_function())
    return tf.lite.TFLiteConverter.from_concrete_functions([frozen])


def _signature(model: Any, path: Path) -> Any:
    """Return the types and shapes of a model's inputs, for a batch of one image."""
    import tensorflow as tf

    if getattr(model, "inputs", None):
        names = [tensor._keras_history.operation.name for tensor in model.inputs]
        specs = [
            tf.TensorSpec((1, *tensor.shape[1:]), tensor.dtype, name=name) for name, tensor in zip(names, model.inputs)
        ]
        return specs[0] if len(specs) == 1 else specs
    shapes = (model.get_build_config() or {}).get("input_shape") if hasattr(model, "get_build_config") else None
    if not shapes or not isinstance(shapes[0], (int, type(None))):
        advice = "build it with one input, model.build((1, height, width, channels)), and save it again"
        raise ModelError(f"{path}: the file does not have the shape of its input; {advice}")
    return tf.TensorSpec((1, *shapes[1:]), tf.float32, name="input")


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{lines[0]:.200}" if lines else type(error).__name__


if __name__ == "__main__":
    sys.exit(execute(sys.argv[1:], work))
