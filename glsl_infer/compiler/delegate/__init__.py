"""Compilation of graphs that shaders can compute only in part: some parts run on the GPU, the others on the CPU."""

from glsl_infer.compiler.delegate.build import Built, BuiltPart, build

__all__ = ["Built", "BuiltPart", "build"]
