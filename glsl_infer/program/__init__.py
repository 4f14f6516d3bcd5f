"""What a compiled network is: textures, shader pairs, passes and texels, as plain data."""

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
