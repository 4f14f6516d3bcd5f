"""Import of an ONNX file as a graph. It requires only the package ``onnx``, not ONNX Runtime."""

from glsl_infer.importers.core.io_options import IoOptions
from glsl_infer.importers.onnx.reader import Imported, declared, imported, load, survey, tensors, to_graph

__all__ = ["Imported", "IoOptions", "declared", "imported", "load", "survey", "tensors", "to_graph"]
