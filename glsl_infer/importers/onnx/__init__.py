"""An ONNX file -> a graph. ONNX Runtime is not needed, only the package ``onnx``."""

from glsl_infer.importers.onnx.reader import Imported, declared, imported, load, read, survey, tensors, to_graph
from glsl_infer.importers.shared.ends import Ends

__all__ = ["Ends", "Imported", "declared", "imported", "load", "read", "survey", "tensors", "to_graph"]
