#version 100
// Every fragment shader begins with these lines. A sampler is lowp unless it says otherwise, and on some
// drivers lowp costs half a bit of every texel; so both are asked for at full precision or not run at all.
#ifdef GL_FRAGMENT_PRECISION_HIGH
precision highp float;
precision highp sampler2D;
#else
#error glsl-infer needs highp floats in fragment shaders, which this GPU does not have
#endif
