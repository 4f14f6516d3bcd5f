"""Import of a Keras model as a graph. Only this package of the engine imports Keras."""

from glsl_infer.importers.core.convolutions import same_padding
from glsl_infer.importers.core.io_options import IoOptions
from glsl_infer.importers.keras.inputs import open_inputs, with_sizes
from glsl_infer.importers.keras.reader import (
    load,
    load_model,
    outputs_of,
    survey,
    survey_of,
    tensors_of,
    to_graph,
    version,
    with_outputs,
)

__all__ = [
    "IoOptions",
    "load",
    "load_model",
    "open_inputs",
    "outputs_of",
    "same_padding",
    "survey",
    "survey_of",
    "tensors_of",
    "to_graph",
    "version",
    "with_outputs",
    "with_sizes",
]
