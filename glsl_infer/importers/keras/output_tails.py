"""The output tail of a Keras model as host steps, as in ``importers.core.output_tail``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glsl_infer.errors import ModelError, with_article
from glsl_infer.graph.host_steps import ARGMAX, CONCATENATE, NORMALIZE, ROWS, SIGMOID, SOFTMAX, HostStep
from glsl_infer.importers.core.output_tail import NOTHING, Layers, OutputTail, split_host_steps
from glsl_infer.importers.core.report import CPU, DROPPED, LayerStatus

ROWS_RANK = 3
"""Rank of rows, with the batch axis."""

_NOTHING = ("Dropout", "Identity", "ActivityRegularization")
_ADVICE = (
    "rows come from Reshape((-1, columns)) of feature maps, then Concatenate(axis=1), then a sigmoid or softmax of "
    "all; what differs between rows needs outputs of its own"
)


def ending(tensor: Any) -> OutputTail[Any]:
    """Return the output tail of an output of a model.

    Raises:
        ModelError: the output has rows that host steps do not make. The message names the layer.
    """
    reached = split_host_steps(tensor, Layers(_step, _is_join, _inputs))
    if any(len(left.shape) == ROWS_RANK or len(left.shape) > 4 for left in reached.tensors):
        operation = _operation(tensor)
        raise ModelError.layer(
            operation.name,
            f"an output of shape {tuple(tensor.shape[1:])} that ends in {with_article(type(operation).__name__)}",
            _ADVICE,
        )
    return reached


def ended(model: Any, rows: Mapping[str, LayerStatus]) -> list[LayerStatus]:
    """Return report rows for the layers in output tails, which are not imported."""
    verdicts = []
    for operation in getattr(model, "operations", model.layers):
        if operation.name in rows or hasattr(operation, "layers") or _is_traced(operation, rows):
            continue
        tensor = operation._inbound_nodes[0].output_tensors[0]
        step = HostStep(CONCATENATE) if _is_join(tensor) else _step(tensor)
        idle = not (step and step.step)
        note = f"host step '{step.step}' of an output" if step and step.step else "does nothing outside of training"
        shape = tuple(tensor.shape[1:])
        verdicts.append(
            LayerStatus(operation.name, type(operation).__name__, shape, DROPPED if idle else CPU, note=note)
        )
    return verdicts


def _is_traced(operation: Any, rows: Mapping[str, LayerStatus]) -> bool:
    """Return whether a layer of the user has been traced, so that its parts have their own rows."""
    return not _kind(operation) and any(name.startswith(f"{operation.name}/") for name in rows)


def _is_join(tensor: Any) -> bool:
    operation = _operation(tensor)
    return _kind(operation) == "Concatenate" and len(tensor.shape) == ROWS_RANK and operation.axis in (1, 1 - ROWS_RANK)


def _step(tensor: Any) -> HostStep | None:
    """Return the host step of a tensor's layer; a step without a name for a layer without an effect; else None."""
    operation, rank = _operation(tensor), len(tensor.shape)
    kind = _kind(operation)
    if kind == "Argmax" and operation.axis in (-1, rank) and not operation.keepdims:
        return HostStep(ARGMAX)
    normalizes = kind == "UnitNormalization" or (kind == "Normalize" and operation.order == 2)
    if normalizes and _last_axis(operation.axis, rank):
        return HostStep(NORMALIZE)
    if rank != ROWS_RANK:
        return None
    if kind == "Reshape" and tensor.shape[2] is not None:
        return HostStep(ROWS, int(tensor.shape[2]))
    if kind in ("Softmax", "Sigmoid"):
        fits = kind == "Sigmoid" or _last_axis(getattr(operation, "axis", -1), rank)
        return HostStep(kind.lower()) if fits else None
    function = getattr(getattr(operation, "activation", None), "__name__", "") if kind == "Activation" else ""
    if function in (SIGMOID, SOFTMAX):
        return HostStep(function)
    return NOTHING if kind in _NOTHING or function == "linear" else None


def _last_axis(axis: Any, rank: int) -> bool:
    axes = axis if isinstance(axis, (list, tuple)) else [axis]
    return list(axes) in ([-1], [rank - 1])


def _operation(tensor: Any) -> Any:
    return tensor._keras_history.operation


def _kind(operation: Any) -> str:
    """Return the class name of an operation of Keras; "" for other packages' operations."""
    known = type(operation).__module__.partition(".")[0] == "keras"
    return type(operation).__name__ if known else ""


def _inputs(tensor: Any) -> list[Any]:
    operation, call_index, _ = tensor._keras_history
    return list(operation._inbound_nodes[call_index].arguments.keras_tensors)
