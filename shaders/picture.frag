// Show a texture, such as an image or the panel with labels. The result is opaque whatever the texture's alpha is,
// because on some desktops a window with alpha is transparent.
varying vec2 coord;
uniform sampler2D picture;

void main() {
    gl_FragColor = vec4(texture2D(picture, coord).rgb, 1.0);
}
