// One slice moved: enlarged, each texel repeated, or with zeros around it.
varying vec4 coord0;
uniform sampler2D source;
uniform vec2 source_texel;
uniform vec2 shift; // in texels

void main() {
    vec4 y = texture2D(source, coord0.xy + shift * source_texel);
    //@ pad_lanes Lanes beyond the last channel are 0, also where the gutter is not.
    gl_FragColor = whole(y);
}
