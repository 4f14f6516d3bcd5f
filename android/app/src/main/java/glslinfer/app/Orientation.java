package glslinfer.app;

/**
 * Transformation from the upright image on the screen to the camera's texture.
 *
 * <p>The matrix of a camera's SurfaceTexture rotates the sensor's image upright for the phone's natural orientation,
 * and mirrors that of a front camera. The rotation of the screen and the mirroring are added here.
 */
final class Orientation {
    private Orientation() {}

    /** Returns whether the upright image is as wide as the sensor's image is high. */
    static boolean swapsSides(int sensorDegrees, int rotation) {
        return (sensorDegrees / 90 + rotation) % 2 != 0;
    }

    /**
     * Computes a matrix for coordinates from 0 to 1 with (0, 0) at the lower left, as in OpenGL.
     *
     * @param surface matrix of {@code SurfaceTexture.getTransformMatrix}: 16 numbers in column-major order
     * @param rotation as in {@code Display.getRotation}: 0 to 3 quarter turns
     * @param mirrored whether left and right are exchanged first
     * @param out receives 16 numbers
     */
    static void toTexture(float[] surface, int rotation, boolean mirrored, float[] out) {
        // s = a s' + b t' + e, t = c s' + d t' + f: from the screen's upright image to the natural orientation. At
        // rotation 1, the phone's right edge is up: up on the screen (t') is right there (s).
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
