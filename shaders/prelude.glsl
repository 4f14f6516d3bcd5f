#version 100
// The first lines of every fragment shader. Samplers are lowp by default. Some drivers then lose half a bit of each
// texel, so shaders require full precision for samplers and floats.
#ifdef GL_FRAGMENT_PRECISION_HIGH
precision highp float;
precision highp sampler2D;
#else
#error glsl-infer needs highp floats in fragment shaders, which this GPU does not have
#endif
