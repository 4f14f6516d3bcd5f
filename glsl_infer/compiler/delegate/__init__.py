"""Compilation of graphs with layers on the CPU: some parts run on the GPU, the others on the CPU."""

from glsl_infer.compiler.delegate.build import Built, BuiltPart, build, from_optimized

__all__ = ["Built", "BuiltPart", "build", "from_optimized"]
