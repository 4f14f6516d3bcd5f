"""Import of a TensorFlow Lite file as a graph. It requires only the pure Python package ``tflite``, not TensorFlow."""

from glsl_infer.importers.core.io_options import IoOptions
from glsl_infer.importers.tflite.reader import load, read, survey, survey_of, tensors_of, to_graph

__all__ = ["IoOptions", "load", "read", "survey", "survey_of", "tensors_of", "to_graph"]
