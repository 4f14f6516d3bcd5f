package glslinfer.app;

/**
 * Which way is up: from the picture as it stands on the screen to the camera's texture.
 *
 * <p>A camera's SurfaceTexture has a matrix that turns the sensor's picture upright for the phone's natural orientation
 * (and mirrors that of a front camera). What is left is how the screen is turned, and the mirror.
 */
final class Orientation {
    private Orientation() {}

    /** Returns whether the upright picture is as wide as the sensor's is high. */
    static boolean swapsSides(int sensorDegrees, int rotation) {
        return (sensorDegrees / 90 + rotation) % 2 != 0;
    }

    /**
     * Computes a matrix for coordinates from 0 to 1 with (0, 0) at the lower left, as OpenGL has them.
     *
     * @param surface of {@code SurfaceTexture.getTransformMatrix}: 16 numbers, column by column
     * @param rotation of {@code Display.getRotation}: 0 to 3, in quarters of a turn
     * @param mirrored whether left and right change places first
     * @param out takes 16 numbers
     */
    static void toTexture(float[] surface, int rotation, boolean mirrored, float[] out) {
        // s = a s' + b t' + e, t = c s' + d t' + f: from the screen's upright picture to the natural orientation's.
        // Turned by 1, the phone's right edge is up: what is up on the screen (t') lies to the right there (s).
        float a = rotation == 0 ? 1 : rotation == 2 ? -1 : 0;
        float b = rotation == 1 ? 1 : rotation == 3 ? -1 : 0;
        float c = -b;
        float d = a;
        float e = rotation >= 2 ? 1 : 0;
        float f = rotation == 1 || rotation == 2 ? 1 : 0;
        if (mirrored) { // s' becomes 1 - s'
            e += a;
            f += c;
            a = -a;
            c = -c;
        }
        for (int row = 0; row < 4; row++) {
            out[row] = a * surface[row] + c * surface[4 + row];
            out[4 + row] = b * surface[row] + d * surface[4 + row];
            out[8 + row] = surface[8 + row];
            out[12 + row] = e * surface[row] + f * surface[4 + row] + surface[12 + row];
        }
    }
}
