// Shows a texture as it is: a picture, or the panel with its labels. Opaque, whatever the texture's alpha says,
// for some desktops would let what lies behind the window shine through.
varying vec2 coord;
uniform sampler2D picture;

void main() {
    gl_FragColor = vec4(texture2D(picture, coord).rgb, 1.0);
}
