// One slice of depth to space: the channels of a pixel are moved to a block of pixels.
//
// The position of an output pixel in its block decides which channels it has. From pixel to pixel, coordinates advance
// by 1 / BLOCK of a texel.
//
// BLOCK    width and height of a block: a vec2, or a float for both
// ACROSS   width of a block
// TEXEL    size of a texel of the texture of coord0.xy
#ifndef BLOCK
#define BLOCK 2.0
#define ACROSS 2.0
#define TEXEL vec2(1.0)
varying vec4 coord0;
#endif

//@ declarations
uniform vec2 origin; // first texel of the tile of coord0.xy

void main() {
    // The output pixel, counted from the tile's first one.
    vec2 pixel = floor((coord0.xy / TEXEL - origin - 0.5) * BLOCK + 0.5);
    vec2 inner = pixel - BLOCK * floor((pixel + 0.5) / BLOCK);
    float phase = inner.y * ACROSS + inner.x;
    // From the centre of the texel to the centre of the pixel's part of it, in texels.
    vec2 shift = vec2(0.5 / BLOCK - 0.5);
    vec4 t;
    vec4 y = vec4(0.0);
    // All slices are fetched and their lanes are multiplied by 0 or 1, because a fetch in a branch halves the number of
    // VideoCore IV's threads.
    //@ phases
    gl_FragColor = whole(y);
}
