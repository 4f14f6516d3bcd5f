// Draw over the whole canvas, whose first row is its upper edge.
attribute vec2 position;
varying vec2 place; // from 0 at the upper left corner to 1 at the lower right one

void main() {
    place = vec2(position.x, -position.y) * 0.5 + 0.5;
    gl_Position = vec4(position, 0.0, 1.0);
}
