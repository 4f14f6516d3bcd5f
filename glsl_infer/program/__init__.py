"""A compiled network as plain data: textures, shader pairs, passes and texels."""

from glsl_infer.program.program import (
    PRELUDE,
    CompiledNetwork,
    MemoryUse,
    Pass,
    Quad,
    ShaderProgram,
    Slice,
    Source,
    Texture,
    UniformValue,
    WeightsChoice,
)

__all__ = [
    "PRELUDE",
    "CompiledNetwork",
    "MemoryUse",
    "Pass",
    "Quad",
    "ShaderProgram",
    "Slice",
    "Source",
    "Texture",
    "UniformValue",
    "WeightsChoice",
]
