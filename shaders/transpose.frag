// One slice with rows and columns exchanged: y[row, column] = source[column, row].
varying vec4 coord0; // .xy the texel at the output's position, before the exchange
uniform sampler2D source;
uniform vec2 source_texel;
uniform vec2 origin; // first texel of the tile

void main() {
    vec2 pixel = coord0.xy / source_texel - origin;
    vec4 y = texture2D(source, (pixel.yx + origin) * source_texel);
    //@ pad_lanes
    gl_FragColor = whole(y);
}
