"""Models of TensorFlow.js: ``model.json`` and its weight files in the same folder."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.importers.core import limits
from glsl_infer.importers.core.limits import read_bytes
from glsl_infer.importers.keras.old_weights import Named
from glsl_infer.support import json_text

SUFFIX = ".json"
_MOST_JSON = 256 << 20
_TYPES = {"float32": "<f4", "float16": "<f2", "int32": "<i4", "uint8": "u1", "uint16": "<u2", "bool": "?"}


def conversion_advice(package: str) -> str:
    """Return advice that installs a converter of TensorFlow.js in an environment of its own.

    It needs an old TensorFlow and an old protobuf, which newer versions of its dependency ydf do not support.
    """
    return f"convert it: python3 -m venv tfjs; tfjs/bin/pip install {package} 'ydf<0.13'"


def topology_of(path: Path) -> tuple[str, dict[str, Any]]:
    """Return (name of the library that wrote a model.json, configuration of the model).

    Raises:
        ModelError: the file is not a model.json, or is a graph model, which does not have layers.
    """
    data = _json(path)
    topology = data.get("modelTopology") or {}
    if data.get("format") == "graph-model" or "node" in topology:
        raise ModelError(
            f"{path}: a graph model of TensorFlow.js, which has no layers; "
            f"{conversion_advice('tfjs-graph-converter')}; tfjs/bin/tfjs_graph_converter "
            f"{shlex.quote(str(path.parent))} saved_model --output_format=tf_saved_model; "
            "then give the folder saved_model"
        )
    if "class_name" in data and "modelTopology" not in data:
        raise ModelError(
            f"{path}: a network without weights; load it where it was made, and give the file that "
            "model.save('model.keras') writes"
        )
    config = topology.get("model_config", topology)
    if not isinstance(config, dict) or "class_name" not in config or "weightsManifest" not in data:
        raise ModelError(f"{path}: not a model.json of TensorFlow.js; give a model that tf.LayersModel.save wrote")
    version = topology.get("keras_version", "")
    return str(version) if str(version)[:1].isdigit() else "TensorFlow.js", config


def weights_of(path: Path) -> Named:
    """Return the weights of a model.json, by their names.

    Raises:
        ModelError: a file of weights is missing or too short, or has an unknown type.
    """
    counter, weights = limits.Weights(path), Named()
    for group in _json(path)["weightsManifest"]:
        names = [str(Path(str(name))) for name in group["paths"]]
        wrong = [name for name in names if Path(name).name != name]
        if wrong:
            raise ModelError(f"{path}: its weights are in '{wrong[0]:.60}'; only files next to it are read")
        missing = [name for name in names if not (path.parent / name).exists()]
        if missing:
            raise ModelError(f"{path.parent / missing[0]}: no such file; copy all files of the model to one folder")
        data = b"".join(read_bytes(path.parent / name, ".bin", limits.most_bytes()) for name in names)
        offset = 0
        for weight in group["weights"]:
            quantization = weight.get("quantization") or {}
            kind, shape = (
                str(quantization.get("dtype") or weight["dtype"]),
                tuple(int(size) for size in weight["shape"]),
            )
            if kind not in _TYPES or min(shape, default=1) < 0:
                raise ModelError(
                    f"{path}: weights '{weight['name']:.60}' have type {kind} and shape {shape}; allowed are the types "
                    f"{', '.join(_TYPES)}, and sizes of 0 or more"
                )
            dtype, count = np.dtype(_TYPES[kind]), math.prod(shape)
            counter.add(4 * count, weight["name"])
            if offset + count * dtype.itemsize > len(data):
                raise ModelError(f"{path}: the files {', '.join(names)} are too short; copy all files of the model")
            values: NDArray[Any] = np.frombuffer(data, dtype, count, offset).reshape(shape)
            if "scale" in quantization:
                scale, minimum = np.float32(quantization["scale"]), np.float32(quantization["min"])
                values = np.asarray(values.astype(np.float32) * scale + minimum)
            weights.append((str(weight["name"]), values))
            offset += count * dtype.itemsize
    return weights


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json_text.loads(read_bytes(path, SUFFIX, _MOST_JSON))
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise ModelError(f"{path}: not a model.json of TensorFlow.js; give a model that tf.LayersModel.save wrote")
    return data
