// Pass the corners of quads through: a position in clip space, and the texture coordinates of all sources, two sources
// to a vec4. Runners compute both (docs/reference/bundle-format.md, "Quads"). Readers of bundles accept exactly this
// code, with the lines for 1 to 7 varyings.
#version 100
attribute vec2 position;
//@ declarations: for k from 0, 'attribute vec4 corner<k>;' and 'varying vec4 coord<k>;'
void main() {
    gl_Position = vec4(position, 0.0, 1.0);
    //@ assignments: for k from 0, 'coord<k> = corner<k>;'
}
