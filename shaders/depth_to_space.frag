// One slice of depth to space: a pixel takes its channels by where it lies in its block of pixels. Coordinates advance
// by 1/BLOCK of a texel from pixel to pixel.
//
// BLOCK   width and height of a block, or a number for both
// ACROSS  its width
// TEXEL   size of a texel of the texture that coord0.xy belongs to
#ifndef BLOCK
#define BLOCK 2.0
#define ACROSS 2.0
#define TEXEL vec2(1.0)
varying vec4 coord0;
#endif

//@ declarations
uniform vec2 origin; // first texel of the tile that coord0.xy belongs to

void main() {
    // In pixels of the output: whole numbers, but for rounding.
    vec2 pixel = floor((coord0.xy / TEXEL - origin - 0.5) * BLOCK + 0.5);
    vec2 inner = pixel - BLOCK * floor((pixel + 0.5) / BLOCK);
    float phase = inner.y * ACROSS + inner.x;
    // Into the middle of the pixel's part of the texel, in texels.
    vec2 shift = vec2(0.5 / BLOCK - 0.5);
    vec4 t;
    vec4 y = vec4(0.0);
    // All slices are fetched, and their lanes added with factors of 0 or 1: a fetch in a branch halves the threads of a
    // VideoCore IV.
    //@ phases
    gl_FragColor = whole(y);
}
