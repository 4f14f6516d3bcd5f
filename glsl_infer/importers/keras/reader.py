"""Import of a Keras model as a graph. Only the modules of this package import Keras.

The importer does not depend on GPU limits: it imports every model expressible as a graph. Layers without shader support
are refused later, by name.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph
from glsl_infer.importers import own_modules
from glsl_infer.importers.core.builder import GraphBuilder
from glsl_infer.importers.core.io_options import IoOptions, Range
from glsl_infer.importers.core.report import ImportReport
from glsl_infer.importers.keras import old_models, placeholders
from glsl_infer.importers.keras.caution import bounded, check_file, config_of, require_file
from glsl_infer.importers.keras.inputs import with_sizes
from glsl_infer.importers.keras.installed import keras, stderr_silenced
from glsl_infer.importers.keras.walk import Walk

_INTEGER_TYPES = ("uint8", "uint16", "uint32", "int16", "int32", "int64")
"""Input types that can represent the bytes of images exactly."""


def load(path: str | Path, input_range: Range | None = None, io_options: IoOptions | None = None) -> Graph:
    """Read a saved ``.keras`` model and return its graph.

    Args:
        path: the file.
        input_range: as in ``to_graph``.
        io_options: as in ``to_graph``.

    Raises:
        ModelError: the file is missing or is not a Keras model, or a layer is not supported (by name).
        InputError: ``input_range`` or ``io_options`` do not fit the model.
        MissingExtraError: Keras is not installed.
    """
    return survey(path, input_range, io_options).whole()


def survey(path: str | Path, input_range: Range | None = None, io_options: IoOptions | None = None) -> ImportReport:
    """Read a saved ``.keras`` model and return the report: for each layer, where it runs, or why it is refused.

    A Lambda, or a layer of an unknown class, is not loaded. A layer that computes nothing replaces it.

    Args:
        path: the file.
        input_range: as in ``to_graph``.
        io_options: as in ``to_graph``.

    Raises:
        ModelError: the file is missing or is not a Keras model, or the model is not functional.
        MissingExtraError: Keras is not installed.
    """
    opened = _open(Path(path))
    model = opened.placeholder_model or _load(opened)
    try:
        report = survey_of(model, input_range, io_options)
    except ModelError as error:
        has_input_shape = type(model).__name__ != "Sequential" and getattr(model, "built", False)
        if not has_input_shape:
            raise
        report = ImportReport((), None, problems=(error,))
    warnings = [
        f"the model is read as its layers are saved; if its class {name:.60} has a call of its own, that is missing"
        for name in dict.fromkeys(placeholders.own_models(opened.config))
    ]
    convertible = (
        opened.placeholder_model is None and bool(report.problems) and keras().backend.backend() == "tensorflow"
    )
    return replace(report, warnings=tuple(warnings), convertible=convertible)


def load_model(path: str | Path) -> Any:
    """Read a saved ``.keras`` model as a Keras model, uncompiled, with this package's layers registered.

    Raises:
        ModelError: the file is missing or is not a Keras model.
        MissingExtraError: Keras is not installed.
    """
    opened = _open(Path(path))
    if opened.placeholder_model is not None:
        raise survey_of(opened.placeholder_model).problems[0]
    return _load(opened)


@dataclass(frozen=True)
class _OpenedFile:
    """A file whose config was read, without weights.

    Attributes:
        path: of the file.
        old: the file's content if a library other than Keras 3 wrote it.
        config: the config of the model in the format of Keras 3; None if the file has none.
        placeholder_model: the model with placeholders for unknown layers; None if it does not need any.
    """

    path: Path
    old: old_models.OldModel | None
    config: dict[str, Any] | None
    placeholder_model: Any | None


def _open(path: Path) -> _OpenedFile:
    """Read the config of a saved model, with this package's layers registered.

    Raises:
        ModelError: the file is missing or is not a Keras model.
        MissingExtraError: Keras is not installed.
    """
    require_file(path)
    keras()
    own_modules.load()
    old = old_models.read(path)
    config = old.config if old is not None else config_of(path)
    return _OpenedFile(path, old, config, placeholders.of_config(path, config))


def _load(opened: _OpenedFile) -> Any:
    """Return the Keras model of a file without placeholders, with its weights.

    Raises:
        ModelError: the file is not a Keras model.
    """
    path, old, installed = opened.path, opened.old, keras()
    check_file(path, old.config if old is not None else None)
    if old is not None:
        return _load_old(old, installed)
    try:
        with stderr_silenced(), bounded(installed, path):
            custom_objects = placeholders.own_objects(opened.config)
            return installed.saving.load_model(path, compile=False, custom_objects=custom_objects)
    except ModelError:
        raise
    except Exception as error:  # Keras raises a dozen exception classes here; all mean an unusable file.
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if "No model config found" in reason:
            advice = "load them into the model where it was made, and give what model.save('model.keras') writes"
            raise ModelError(f"{path}: weights without a model; {advice}") from error
        raise ModelError(f"{path}: not a model that Keras can load ({reason})") from error


def _load_old(old: old_models.OldModel, installed: Any) -> Any:
    """Return the model of a file saved by Keras 2.

    Raises:
        ModelError: Keras 3 cannot build the model, or its weights are missing or do not match.
    """
    separate_weights = old.separate_weights()
    try:
        with stderr_silenced(), bounded(installed, old.path):
            custom_objects = placeholders.own_objects(old.config)
            model = installed.saving.deserialize_keras_object(copy.deepcopy(old.config), custom_objects, safe_mode=True)
    except ModelError:
        raise
    except Exception as error:  # Keras raises a dozen exception classes here; all mean an invalid model
        raise old.cannot(error) from error
    try:
        old.load_weights(model, separate_weights)
    except (ModelError, OSError, KeyError, ValueError) as error:
        raise old.cannot(error) from error
    return model


def to_graph(model: Any, input_range: Range | None = None, io_options: IoOptions | None = None) -> Graph:
    """Return the graph of a functional or sequential Keras model.

    Inputs have the names of their Keras layers. Outputs have the names of the layers that compute them, or their keys
    if the model returns a dict. An input of shape (height, width, 1, 3 or 4) is an image; any other is a plain tensor.

    Args:
        model: the model. Nested models are imported, too, with layers named ``inner/layer``.
        input_range: the values of byte 0 and byte 255 of the image, as in training: (0, 1), (-1, 1), (0, 255). Default:
            (0, 255) if the model begins with a rescaling by 1/32 or less, as Keras models on raw bytes do, else (0, 1).
        io_options: options for inputs and outputs.

    Raises:
        ModelError: unsupported layers or options. The message names the layers and the required change.
        InputError: ``input_range`` or ``io_options`` do not fit the model.
    """
    return survey_of(model, input_range, io_options).whole()


def survey_of(model: Any, input_range: Range | None = None, io_options: IoOptions | None = None) -> ImportReport:
    """Return the same as ``to_graph``, with the refused layers as a part of the result.

    Raises:
        ModelError: the model is not functional.
    """
    keras()
    _require_functional(model)
    options = io_options or IoOptions()
    if input_range is not None:
        options = replace(options, ranges={"": input_range, **options.ranges})
    options = replace(options, ranges={**_integer_input_ranges(model), **options.ranges})
    if options.constants:
        raise InputError(f"--constant {next(iter(options.constants))}: is for .onnx and .tflite files; leave it out")
    model = with_sizes(model, options.sizes, options.shapes)
    builder = GraphBuilder()
    walk = Walk(builder, "", {})
    for tensor in model.inputs:
        walk.tensor(tensor)
    nodes = [(name, walk.tensor(tensor)) for name, tensor in _named_outputs(model)]
    return builder.report(model.name, nodes, lambda graph: options)


def _integer_input_ranges(model: Any) -> dict[str, Range]:
    """Return the ranges of images with an integer type: with values between 0 and 1, all would be 0."""
    integer_inputs = [
        tensor for tensor in model.inputs if str(tensor.dtype) in _INTEGER_TYPES and len(tensor.shape) in (3, 4)
    ]
    return {tensor._keras_history.operation.name: (0.0, 255.0) for tensor in integer_inputs}


def tensors_of(model: Any) -> dict[str, Any]:
    """Return the Keras tensor that a node of ``to_graph(model)`` computes, by the node's name.

    Nodes for a part of a layer, such as the sum of a Dense layer with an activation, and nodes of nested models do not
    have one.
    """
    walk = Walk(GraphBuilder(), "", {})
    for tensor in model.inputs:
        walk.tensor(tensor)
    for tensor in model.outputs:
        walk.tensor(tensor)
    return walk.tensors


def outputs_of(model: Any) -> dict[str, Any]:
    """Return the Keras tensors that a model returns, by the names that they have in its graph."""
    return dict(_named_outputs(model))


def with_outputs(model: Any, tensors: Any) -> Any:
    """Return a Keras model with the inputs of ``model`` that computes one of its tensors, or a list of them."""
    return keras().Model(model.inputs, tensors)


def version() -> str:
    """Return the version and the backend of Keras, such as ``Keras 3.13.0, tensorflow``."""
    installed = keras()
    return f"Keras {installed.version()}, {installed.backend.backend()}"


def _require_functional(model: Any) -> None:
    if not getattr(model, "inputs", None) or not getattr(model, "outputs", None):
        if type(model).__name__ == "Sequential":
            advice = "let keras.Input((height, width, channels)) be its first, and save it again"
            raise ModelError(f"model '{model.name}' has no input shape; {advice}")
        raise ModelError(f"model '{model.name}' is not functional; build it with keras.Input and keras.Model")


def _named_outputs(model: Any) -> list[tuple[str, Any]]:
    """Return (name, tensor) of every output: its key in a dict, or the name of the layer that computes it."""
    keys = getattr(model, "_outputs_struct", None)
    if isinstance(keys, dict) and len(keys) == len(model.outputs):
        return [(str(name), tensor) for name, tensor in keys.items()]
    named: list[tuple[str, Any]] = []
    for tensor in model.outputs:
        name = tensor._keras_history.operation.name
        used = {other for other, _ in named}
        free = (name, *(f"{name}~{index}" for index in range(1, len(named) + 1)))
        named.append((next(choice for choice in free if choice not in used), tensor))
    return named
