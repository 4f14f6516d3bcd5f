"""A graph that shaders cannot do as a whole becomes parts: some for the GPU, the others for the CPU."""

from glsl_infer.compiler.delegate.build import Built, BuiltPart, build

__all__ = ["Built", "BuiltPart", "build"]
