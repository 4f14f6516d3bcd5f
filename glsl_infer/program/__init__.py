"""What a compiled network is: textures, shader pairs, passes and texels, as plain data."""

from glsl_infer.program.program import (
    PRELUDE,
    MemoryUse,
    Pass,
    Program,
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
    "MemoryUse",
    "Pass",
    "Program",
    "Quad",
    "ShaderProgram",
    "Slice",
    "Source",
    "Texture",
    "UniformValue",
    "WeightsChoice",
]
