"""A graph that shaders cannot do as a whole becomes parts: some for the GPU, the others for the CPU."""

from glsl_infer.compiler.delegate.build import Built, BuiltPart, build
from glsl_infer.compiler.delegate.choose import cpu_layers
from glsl_infer.compiler.delegate.partition import Part, partition

__all__ = ["Built", "BuiltPart", "Part", "build", "cpu_layers", "partition"]
