"""Keras model -> graph. Keras is imported by this module and its neighbours, nowhere else in the engine.

The importer knows nothing of GPU limits: whatever the graph can express is imported, and what the shaders
cannot do is refused later, by the operator.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph, GraphOutput
from glsl_infer.graph.purposes import VALUES
from glsl_infer.importers import own_modules
from glsl_infer.importers.core.patterns import fused
from glsl_infer.importers.keras import old_models, stand_ins
from glsl_infer.importers.keras.caution import bounded, check_file
from glsl_infer.importers.keras.endings import ended, ending
from glsl_infer.importers.keras.installed import keras
from glsl_infer.importers.keras.open_sizes import with_sizes
from glsl_infer.importers.keras.quiet import stderr_silenced
from glsl_infer.importers.keras.saved import config_of, require_file
from glsl_infer.importers.keras.walk import Walk
from glsl_infer.importers.shared.collected import Collected
from glsl_infer.importers.shared.ends import Ends, Range, with_ends
from glsl_infer.importers.shared.verdict import Survey

_WHOLE = ("uint8", "uint16", "uint32", "int16", "int32", "int64")
"""Types of an input that bytes of pictures fit into as they are."""


def load(path: str | Path, input_range: Range | None = None, ends: Ends | None = None) -> Graph:
    """Read a saved ``.keras`` model and return its graph.

    Args:
        path: the file.
        input_range: see ``to_graph``.
        ends: see ``to_graph``.

    Raises:
        ModelError: the file is missing or no Keras model, or a layer is not supported (by name).
        InputError: ``input_range`` or ``ends`` do not fit the model.
        MissingExtraError: Keras is not installed.
    """
    return survey(path, input_range, ends).whole()


def survey(path: str | Path, input_range: Range | None = None, ends: Ends | None = None) -> Survey:
    """Read a saved ``.keras`` model and say of each layer where it runs, also where it cannot be exported.

    A Lambda, and a layer whose class nobody knows here, is not loaded: a layer that computes nothing stands for it.

    Args: see ``load``.

    Raises:
        ModelError: the file is missing or no Keras model, or it is not functional.
        MissingExtraError: Keras is not installed.
    """
    path = Path(path)
    require_file(path)
    keras()
    own_modules.load()
    old = old_models.read(path)
    config = old.config if old is not None else config_of(path)
    foreign = stand_ins.of_config(path, config)
    model = foreign or load_model(path)
    try:
        made = survey_of(model, input_range, ends)
    except ModelError as error:
        if type(model).__name__ == "Sequential" or not getattr(
            model, "built", False
        ):  # nothing knows the shape of its input
            raise
        made = Survey((), None, problems=(error,))
    warnings = [
        f"the model is read as its layers are saved; if its class {name:.60} has a call of its own, that is missing"
        for name in dict.fromkeys(stand_ins.own_models(config))
    ]
    convertible = foreign is None and bool(made.problems) and keras().backend.backend() == "tensorflow"
    return replace(made, warnings=tuple(warnings), convertible=convertible)


def load_model(path: str | Path) -> Any:
    """Read a saved ``.keras`` model as a Keras model, uncompiled, with this package's layers known.

    Raises:
        ModelError: the file is missing or no Keras model.
        MissingExtraError: Keras is not installed.
    """
    path = Path(path)
    require_file(path)
    installed = keras()
    own_modules.load()
    old = old_models.read(path)
    config = old.config if old is not None else config_of(path)
    foreign = stand_ins.of_config(path, config)
    if foreign is not None:
        raise survey_of(foreign).problems[0]
    check_file(path, old.config if old is not None else None)
    if old is not None:
        return _load_old(old, installed)
    try:
        with stderr_silenced(), bounded(installed, path):
            own = stand_ins.own_objects(config)
            return installed.saving.load_model(path, compile=False, custom_objects=own)
    except ModelError:
        raise
    except Exception as error:  # Keras raises a dozen kinds here; all mean that the file is not usable.
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if "No model config found" in reason:
            advice = "load them into the model where it was made, and give what model.save('model.keras') writes"
            raise ModelError(f"{path}: weights without a model; {advice}") from error
        raise ModelError(f"{path}: not a model that Keras can load ({reason})") from error


def _load_old(old: old_models.OldModel, installed: Any) -> Any:
    """Return the model of a file that Keras 2 saved.

    Raises:
        ModelError: Keras 3 cannot build it, or its weights do not fit.
    """
    try:
        with stderr_silenced(), bounded(installed, old.path):
            own = stand_ins.own_objects(old.config)
            model = installed.saving.deserialize_keras_object(copy.deepcopy(old.config), own, safe_mode=True)
    except ModelError:
        raise
    except Exception as error:  # Keras raises a dozen kinds here; all mean that it cannot build the model
        raise old.cannot(error) from error
    try:
        old.load_weights(model)
    except (ModelError, OSError, KeyError, ValueError) as error:
        raise old.cannot(error) from error
    return model


def to_graph(model: Any, input_range: Range | None = None, ends: Ends | None = None) -> Graph:
    """Return the graph of a functional or sequential Keras model.

    Inputs are called like their Keras layers, outputs like the layers that make them, or by their keys where the model
    returns a dict. An input of shape (height, width, 1, 3 or 4) is a picture, any other takes numbers.

    Args:
        model: the model; models inside it are imported with it, their layers named ``inner/layer``.
        input_range: the values that byte 0 and byte 255 of the picture stand for, as the model was trained: (0, 1),
            (-1, 1), (0, 255). By default (0, 255) where the model itself begins with a rescaling by 1/32 or less,
            as Keras models on raw bytes do, else (0, 1).
        ends: what else is known of inputs and outputs.

    Raises:
        ModelError: layers or options that are not supported, naming the layers and what to change.
        InputError: ``input_range`` or ``ends`` do not fit the model.
    """
    return survey_of(model, input_range, ends).whole()


def survey_of(model: Any, input_range: Range | None = None, ends: Ends | None = None) -> Survey:
    """As ``to_graph``, with what is refused as a part of the result.

    Raises:
        ModelError: the model is not functional.
    """
    keras()
    _require_functional(model)
    ends = ends or Ends()
    if input_range is not None:
        ends = replace(ends, ranges={"": input_range, **ends.ranges})
    ends = replace(ends, ranges={**_of_bytes(model), **ends.ranges})
    if ends.constants:
        raise InputError(f"--constant {next(iter(ends.constants))}: is for .onnx and .tflite files; leave it out")
    model = with_sizes(model, ends.sizes, ends.shapes)
    collected = Collected()
    walk = Walk(collected, "", {})
    for tensor in model.inputs:
        walk.tensor(tensor)
    outputs = [_output(walk, name, tensor) for name, tensor in _named_outputs(model)]
    unread = walk.frames.unread({layer for output in outputs for layer in output.layers})
    collected.nodes = [node for node in collected.nodes if node.name not in unread]
    rows = (*collected.rows.values(), *ended(model, collected.rows))
    known = [output for output in outputs if not collected.unknown & set(output.layers)]
    if len(known) < len(outputs):  # what stands before the unknown can be looked at all the same
        read = {name for node in collected.nodes for name in node.inputs}
        ends_here = [node.name for node in collected.nodes if node.name not in read | collected.guessed]
        known += [GraphOutput(f"before:{name}", (name,), (), VALUES) for name in ends_here]
    graph, problems = None, list[InputError](collected.refusals)
    try:
        graph = fused(Graph(model.name, collected.nodes, known)) if known else None
        if graph is not None and not problems:
            _require_inputs_read(graph)
        graph = with_ends(graph, ends) if graph is not None else None
    except InputError as error:
        problems.append(error)
    return Survey(rows, graph, frozenset(collected.guessed), tuple(problems))


def _of_bytes(model: Any) -> dict[str, Range]:
    """Return the ranges of pictures whose type has whole numbers only: those between 0 and 1 were all 0."""
    whole = [tensor for tensor in model.inputs if str(tensor.dtype) in _WHOLE and len(tensor.shape) in (3, 4)]
    return {tensor._keras_history.operation.name: (0.0, 255.0) for tensor in whole}


def _require_inputs_read(graph: Graph) -> None:
    unread = [node.name for node in graph.inputs if not graph.consumers[node.name]]
    if unread and not set(unread) & set(graph.output_layers):
        raise ModelError.layer(unread[0], "an input that no output depends on", "build the model without it")


def tensors_of(model: Any) -> dict[str, Any]:
    """Return the Keras tensor that a node of ``to_graph(model)`` computes, by the node's name.

    Nodes that are a part of a layer have none (the sum of a Dense layer with an activation), nor have those of models
    inside the model.
    """
    walk = Walk(Collected(), "", {})
    for tensor in model.inputs:
        walk.tensor(tensor)
    for tensor in model.outputs:
        _output(walk, "", tensor)
    return walk.tensors


def outputs_of(model: Any) -> dict[str, Any]:
    """Return the Keras tensors that a model returns, by the names that they have in its graph."""
    return dict(_named_outputs(model))


def with_outputs(model: Any, tensors: Any) -> Any:
    """Return a Keras model with the inputs of ``model`` that computes a tensor of it, or a list of them."""
    return keras().Model(model.inputs, tensors)


def version() -> str:
    """Return which Keras this is, and on which backend: ``Keras 3.13.0, tensorflow``."""
    installed = keras()
    return f"Keras {installed.version()}, {installed.backend.backend()}"


def _require_functional(model: Any) -> None:
    if not getattr(model, "inputs", None) or not getattr(model, "outputs", None):
        if type(model).__name__ == "Sequential":
            advice = "let keras.Input((height, width, channels)) be its first, and save it again"
            raise ModelError(f"model '{model.name}' was never told the shape of its input; {advice}")
        raise ModelError(f"model '{model.name}' is not functional; build it with keras.Input and keras.Model")


def _named_outputs(model: Any) -> list[tuple[str, Any]]:
    """Return (name, tensor) of every output: its key in a dict, or the name of the layer that makes it."""
    keys = getattr(model, "_outputs_struct", None)
    if isinstance(keys, dict) and len(keys) == len(model.outputs):
        return [(str(name), tensor) for name, tensor in keys.items()]
    named: list[tuple[str, Any]] = []
    for tensor in model.outputs:
        name = tensor._keras_history.operation.name
        taken = {known for known, _ in named}
        free = (name, *(f"{name}~{index}" for index in range(1, len(named) + 1)))
        named.append((next(choice for choice in free if choice not in taken), tensor))
    return named


def _output(walk: Walk, name: str, tensor: Any) -> GraphOutput:
    """Import what an output is made of."""
    try:
        end = ending(tensor)
    except ModelError:  # rows that no host steps make: the CPU computes all that is between the maps and them
        return GraphOutput(name, (walk.tensor(tensor),))
    return GraphOutput(name, tuple(walk.tensor(below) for below in end.tensors), end.steps)
