"""Loading of weights from files of Keras 2 and TensorFlow.js into a model built by Keras 3."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.importers.keras.installed import keras
from glsl_infer.importers.keras.keras2 import plain_name

Named = list[tuple[str, NDArray[Any]]]
"""Weights in the order of the file, each with its name."""

_CONTAINERS = ("layers", "_layer_checkpoint_dependencies")
"""Groups in which versions of Keras 2 store the layers of a model."""


class Assignment:
    """Assignment of weights to the layers of a model, with a record of the weights still missing.

    Args:
        model: the Keras 3 model.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._missing = {id(variable): variable for variable in model.weights}

    def by_layers(self, group: Any) -> None:
        """Load the group ``model_weights`` of an .h5 file: a group for each layer of the model, by its name."""
        layers = {layer.name: layer for layer in self._model.layers}
        for name in _texts(group, "layer_names"):
            weights = [(weight, np.asarray(group[name][weight])) for weight in _texts(group[name], "weight_names")]
            if plain_name(name) in layers:
                self._of_layer(layers[plain_name(name)], weights)
            elif weights:
                raise ModelError.layer(name, "weights of a layer that the model does not have", "save it again")

    def by_names(self, weights: Named) -> None:
        """Load weights of any layers, including those of nested models, by names such as ``block/conv/kernel``."""
        self._of_layer(self._model, weights)

    def by_numbered_groups(self, group: Any, config: Mapping[str, Any]) -> None:
        """Load the weights of a .keras file of Keras 2, whose groups are named after classes and numbered.

        Args:
            group: the group of the model.
            config: the configuration of the model in the file.
        """
        self._of_model(self._model, group, config)

    def finish(self) -> None:
        """Refuse a model with missing weights.

        Raises:
            ModelError: a weight is missing. The message names the first.
        """
        for variable in self._missing.values():
            raise ModelError(f"the file has no weights for '{variable.path}'")

    def _of_layer(self, layer: Any, weights: Named) -> None:
        if not _is_model(layer):
            self._assign(layer, _variables(layer), weights)
            return
        leaves = {leaf.name: leaf for leaf in _leaves(layer)}
        weights_by_owner: dict[str, Named] = {}
        for name, values in weights:
            weights_by_owner.setdefault(_owner(name, leaves), []).append((name, values))
        if "" in weights_by_owner:  # names in the file are older than the names of the layers
            self._assign(layer, _variables(layer), weights)
            return
        for owner, weights_of_owner in weights_by_owner.items():
            self._assign(leaves[owner], _variables(leaves[owner]), weights_of_owner)

    def _of_model(self, model: Any, group: Any, config: Mapping[str, Any]) -> None:
        container: Any = next((group[name] for name in _CONTAINERS if name in group), {})
        layers, counts = {layer.name: layer for layer in model.layers}, dict[str, int]()
        for layer_config in config["layers"]:
            kind = snake_case(layer_config["class_name"])
            counts[kind] = counts.get(kind, -1) + 1
            key = f"{kind}_{counts[kind]}" if counts[kind] else kind
            layer = layers.get(plain_name(layer_config.get("name") or layer_config["config"].get("name")))
            if layer is None or key not in container:
                continue
            if _is_model(layer) and "layers" in layer_config["config"]:
                self._of_model(layer, container[key], layer_config["config"])
            else:
                self._of_parts(layer, container[key], set())

    def _of_parts(self, layer: Any, group: Any, visited: set[int]) -> None:
        """Load the weights of a layer and the layers inside it. The groups are named after attributes."""
        if id(layer) in visited:
            return
        visited.add(id(layer))
        if "vars" in group and len(group["vars"]):
            stored = [(number, np.asarray(group["vars"][number])) for number in sorted(group["vars"], key=int)]
            self._assign(layer, list(layer._trainable_variables + layer._non_trainable_variables), stored)
        for name in sorted(set(group) - {"vars"}):
            inner = getattr(layer, name, None)
            if isinstance(inner, keras().layers.Layer):
                self._of_parts(inner, group[name], visited)
            elif isinstance(inner, (list, tuple)):
                counts: dict[str, int] = {}
                for part in inner:
                    kind = snake_case(type(part).__name__)
                    counts[kind] = counts.get(kind, -1) + 1
                    key = f"{kind}_{counts[kind]}" if counts[kind] else kind
                    if key in group[name] and isinstance(part, keras().layers.Layer):
                        self._of_parts(part, group[name][key], visited)

    def _assign(self, layer: Any, variables: Sequence[Any], weights: Named) -> None:
        """Load the weights of a layer, by their names if both versions have the same names, else in order."""
        last = [re.sub(r":\d+$", "", name).rpartition("/")[2] for name, _ in weights]
        names = [variable.name for variable in variables]
        stored = {name: values for name, (_, values) in zip(last, weights)}
        if len(stored) == len(last) and len(set(names)) == len(names) and set(names) <= set(last):
            values = [stored[name] for name in names]
        elif len(weights) >= len(variables):  # in the file, a count follows the statistics of Normalization
            values = [value for _, value in weights[: len(variables)]]
        else:
            values = []
        alike = [_sides(value.shape) == _sides(variable.shape) for value, variable in zip(values, variables)]
        surplus = [value for _, value in weights[len(variables) :] if value.ndim]
        if len(values) != len(variables) or not all(alike) or (surplus and len(values) != len(stored)):
            shapes = [value.shape for _, value in weights]
            raise ModelError.layer(
                layer.name,
                f"weights of shapes {shapes}, where Keras 3 has {[v.shape for v in variables]}",
                "convert it",
            )
        for variable, value in zip(variables, values):
            variable.assign(np.reshape(value, variable.shape))
            self._missing.pop(id(variable), None)
        if hasattr(layer, "finalize_state"):
            layer.finalize_state()


def snake_case(name: str) -> str:
    """Return Keras' default name for a layer of a class: ``conv2d`` for ``Conv2D``, ``re_lu`` for ``ReLU``."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def _sides(shape: Sequence[int]) -> list[int]:
    """Return the sizes of a shape without axes of 1, which Normalization had in old versions."""
    return [size for size in shape if size != 1]


def _variables(layer: Any) -> list[Any]:
    """Return the weights of a layer in the order of .h5 files."""
    return [*layer.trainable_weights, *layer.non_trainable_weights]


def _owner(weight: str, leaves: Mapping[str, Any]) -> str:
    """Return the layer whose name is part of a weight's name, or ""."""
    parts = weight.split("/")
    for first in range(len(parts)):
        for last in range(len(parts), first, -1):
            if (name := "_".join(parts[first:last])) in leaves:  # layer names could have slashes
                return name
    return ""


def _leaves(model: Any) -> Iterator[Any]:
    for layer in model.layers:
        if _is_model(layer):
            yield from _leaves(layer)
        else:
            yield layer


def _is_model(layer: Any) -> bool:
    return isinstance(layer, keras().Model)


def _texts(group: Any, name: str) -> list[str]:
    """Return the texts of an attribute. A large attribute is stored in several pieces."""
    pieces = [group.attrs[name]] if name in group.attrs else []
    while f"{name}{len(pieces)}" in group.attrs:
        pieces.append(group.attrs[f"{name}{len(pieces)}"])
    texts = [text for piece in pieces for text in piece]
    return [text.decode() if isinstance(text, bytes) else str(text) for text in texts]
