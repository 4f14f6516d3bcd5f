"""A Keras model -> a graph. Keras is imported here, and nowhere else in the package."""

from glsl_infer.importers.keras.reader import (
    load,
    load_model,
    same_padding,
    tensors_of,
    to_graph,
    version,
    with_outputs,
)

__all__ = ["load", "load_model", "same_padding", "tensors_of", "to_graph", "version", "with_outputs"]
