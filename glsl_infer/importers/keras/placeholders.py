"""Placeholders for Lambda layers and layers of unknown classes, so that the other layers can be inspected.

A Lambda contains Python code. It is not loaded: the model is built from a config with a placeholder layer instead,
without its weights.
"""

from __future__ import annotations

import copy
import inspect
from pathlib import Path
from typing import Any

from glsl_infer.errors import ModelError, together
from glsl_infer.importers import own_modules
from glsl_infer.importers.keras.caution import READ_FILES, RUN_OTHERS, bounded, check_config, objects_in
from glsl_infer.importers.keras.installed import keras, stderr_silenced
from glsl_infer.importers.keras.instead import OF_KERAS_2, OF_YOUR_OWN

NAME = "glsl_infer>Placeholder"
"""Name under which the placeholder is registered while such a model is built."""

LAMBDA = "Lambda"

_OF_KERAS_2 = frozenset({"CuDNNGRU", "CuDNNLSTM", "LocallyConnected1D", "LocallyConnected2D"})
"""Layers of Keras 2 without a counterpart."""

_ADVICE = {
    LAMBDA: "write its computation with keras.ops (x * 2.0, keras.ops.relu(x), ...) on Keras tensors, and save again",
}


def of_config(path: Path, config: dict[str, Any] | None) -> Any | None:
    """Return the model of a config with placeholders, without weights; None if no placeholder is needed.

    Args:
        path: of the file, for messages.
        config: the file's config in the format of Keras 3.

    Raises:
        InputError: the model cannot be built with placeholders. The message names the refused layers.
    """
    if config is None:
        return None
    config = copy.deepcopy(config)
    own = own_objects(config)
    layers = [
        serialized for serialized in objects_in(config) if "inbound_nodes" in serialized or "build_config" in serialized
    ]
    replaced = [serialized for serialized in layers if _name_of(serialized) not in own and _replace(serialized)]
    if not replaced:
        return None
    for serialized in layers:  # shapes after a placeholder can differ from the file's
        serialized.pop("build_config", None)
    installed = keras()
    check_config(path, config)
    placeholder = _placeholder_class()
    try:
        with stderr_silenced(), bounded(installed, path):
            return installed.saving.deserialize_keras_object(
                config, custom_objects={NAME: placeholder, **own}, safe_mode=True
            )
    except ModelError:
        raise
    except Exception:  # Keras raises a dozen exception classes here: shapes do not match after a placeholder
        refused = [placeholder(**serialized["config"]) for serialized in replaced]
        raise together([ModelError.layer(layer.name, *layer.refusal()) for layer in refused]) from None


def own_objects(config: Any) -> dict[str, Any]:
    """Return replacements for the user's own objects in a config, by their registered names.

    A functional model of a user's class has its own training step, but computes the same as its config. Keras' own
    model replaces it. A function of the user, such as an initializer, is refused only if its values matter.
    """
    objects: dict[str, Any] = dict.fromkeys(own_models(config), keras().Model)
    for serialized in objects_in(config):
        functions = [value.get("config") for value in serialized["config"].values() if _is_function(value)]
        objects.update({name: _function(name) for name in functions if not _is_registered(name)})
        own = next(own_modules.objects_called(serialized["class_name"].rpartition(">")[2]), None)
        if inspect.isclass(own) and issubclass(own, keras().layers.Layer) and _module_of(serialized) != "keras":
            objects[_name_of(serialized)] = own
    return objects


def own_models(config: Any) -> list[str]:
    """Return the names of functional models in a config whose class is the user's."""
    return [
        _name_of(serialized)
        for serialized in objects_in(config)
        if {"layers", "input_layers", "output_layers"} <= serialized["config"].keys()
        and not str(serialized.get("module")).startswith("keras")
        and not _is_registered(_name_of(serialized))
    ]


def _module_of(serialized: dict[str, Any]) -> str:
    return str(serialized.get("module") or "").partition(".")[0]


def _name_of(serialized: dict[str, Any]) -> str:
    return str(serialized.get("registered_name") or serialized["class_name"])


def _is_function(value: Any) -> bool:
    """Return whether an option is a function that is not part of Keras."""
    if not isinstance(value, dict) or value.get("class_name") != "function":
        return False
    name = value.get("config")
    return isinstance(name, str) and (">" in name or not hasattr(keras().activations, name))


def _function(name: str) -> Any:
    """Return a function that fills weights with zeros, to be replaced by the file's values, and keeps tensors."""

    def own(first: Any, *args: Any, **kwargs: Any) -> Any:
        return keras().ops.zeros(first) if isinstance(first, (list, tuple)) else first

    own.__name__ = name
    return own


def _replace(serialized: dict[str, Any]) -> bool:
    """Replace a serialized layer by a placeholder if it must not be loaded; return whether it was replaced."""
    kind = serialized["class_name"]
    registered = serialized.get("registered_name")
    never = kind in RUN_OTHERS | READ_FILES
    is_keras = _module_of(serialized) == "keras" and not never
    if is_keras or (not never and _is_registered(str(registered or kind))):
        return False
    name = str(serialized["config"].get("name", kind))
    config = {"name": name, "stands_for": kind}
    serialized.update(module=None, class_name="Placeholder", registered_name=NAME, config=config)
    serialized.pop("build_config", None)
    return True


def _is_registered(name: str) -> bool:
    return keras().saving.get_registered_object(name) is not None


def _placeholder_class() -> Any:
    installed = keras()

    class Placeholder(installed.layers.Layer):  # type: ignore[misc, name-defined]
        """A layer without a computation, whose output has the shape of its first input."""

        def __init__(self, stands_for: str, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.stands_for = stands_for

        def refusal(self) -> tuple[str, str]:
            """Return the reason of the refusal, and the advice."""
            if self.stands_for == LAMBDA:
                what = "a Lambda cannot be exported: it holds Python code, of which nothing was run"
            elif self.stands_for in _OF_KERAS_2:
                return f"a {self.stands_for}, which is a layer of Keras 2 that Keras 3 does not have", OF_KERAS_2
            elif self.stands_for.startswith("tf."):
                return f"{self.stands_for}, called by a model of Keras 2, has no counterpart in Keras 3", OF_KERAS_2
            elif self.stands_for in RUN_OTHERS | READ_FILES:
                what = f"a {self.stands_for} cannot be exported: it may run code or read files, so it was not loaded"
            else:
                what = f"the layer's class '{self.stands_for}' is not part of Keras, and its code is not in the file"
            return what, _ADVICE.get(self.stands_for, OF_YOUR_OWN)

        def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
            """Return the first input's shape and type."""
            first = installed.tree.flatten((args, kwargs))[0]
            return installed.KerasTensor(first.shape, dtype=first.dtype)

        def call(self, *args: Any, **kwargs: Any) -> Any:
            """Refuse to compute."""
            raise NotImplementedError(self.stands_for)

    return Placeholder
