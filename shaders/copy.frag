// One slice copied: shifted, enlarged by repeating texels, or surrounded by zeros.
varying vec4 coord0;
uniform sampler2D source;
uniform vec2 source_texel;
uniform vec2 shift; // in texels

void main() {
    vec4 y = texture2D(source, coord0.xy + shift * source_texel);
    //@ pad_lanes Padding lanes are 0.
    gl_FragColor = whole(y);
}
