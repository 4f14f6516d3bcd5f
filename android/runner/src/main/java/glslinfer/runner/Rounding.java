package glslinfer.runner;

import java.nio.ByteBuffer;

/**
 * Rounding of stores to RGBA8, measured because drivers differ and no query reports it.
 *
 * <p>Rounding to nearest changes at half a step; on other drivers the shaders round values themselves.
 */
final class Rounding {
    /** Definition after the prelude on devices that do not round to nearest. */
    static final String ROUND_STORES = "#define ROUND_STORES\n";

    private static final int STEPS = 200;
    private static final int[] LEVELS = {2, 60, 100, 130, 200, 250};

    /** Largest difference from 0.5 at which a driver counts as rounding to nearest. */
    private static final double TOLERANCE = 0.01;

    private static final String VERTEX =
            "#version 100\nattribute vec2 position;\nvarying float x;\n"
                    + "void main() {\n    x = position.x * 0.5 + 0.5;\n"
                    + "    gl_Position = vec4(position, 0.0, 1.0);\n}\n";
    /** With max(), a linker cannot move the sum to the vertex shader, where it would not round for each pixel. */
    private static final String FRAGMENT =
            "#version 100\nprecision highp float;\nvarying float x;\nuniform float level;\n"
                    + "void main() { gl_FragColor = vec4((level + max(x, 0.0)) / 255.0); }\n";

    private Rounding() {}

    /**
     * Returns the fraction of a step from which a store rounds up: of all levels, that farthest from 0.5.
     *
     * <p>Changes the context's vertex arrays and fixed state; {@link Device} records their owner.
     */
    static double storeThreshold(Gl gl) {
        GlObjects objects = new GlObjects(gl);
        try {
            ByteBuffer row = GlObjects.direct(4 * STEPS);
            gl.glActiveTexture(Gl.GL_TEXTURE0);
            int framebuffer = objects.framebuffer(objects.texture(STEPS, 1, row));
            int program = objects.program(VERTEX, FRAGMENT, new String[] {"position"}, "rounding test");
            ByteBuffer triangle = GlObjects.direct(24);
            triangle.asFloatBuffer().put(new float[] {-1, -1, 3, -1, -1, 3});
            objects.buffer(triangle);
            objects.fixedState();
            gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, framebuffer);
            gl.glViewport(0, 0, STEPS, 1);
            gl.glUseProgram(program);
            gl.glVertexAttribPointer(0, 2, Gl.GL_FLOAT, false, 0, 0);
            gl.glEnableVertexAttribArray(0);
            ByteBuffer value = GlObjects.direct(4);
            int location = gl.glGetUniformLocation(program, "level");
            double threshold = 0.5;
            for (int level : LEVELS) {
                value.putFloat(0, level);
                gl.glUniform1fv(location, 1, value.asFloatBuffer());
                gl.glDrawArrays(Gl.GL_TRIANGLES, 0, 3);
                gl.glReadPixels(0, 0, STEPS, 1, Gl.GL_RGBA, Gl.GL_UNSIGNED_BYTE, row);
                int below = 0;
                for (int x = 0; x < STEPS; x++) {
                    below += (row.get(4 * x) & 255) <= level ? 1 : 0;
                }
                double fraction = (double) below / STEPS;
                threshold = Math.abs(fraction - 0.5) > Math.abs(threshold - 0.5) ? fraction : threshold;
            }
            return threshold;
        } finally {
            objects.close();
        }
    }

    /** Returns the {@code #define} lines of shaders for a device with that threshold. */
    static String deviceLines(double threshold) {
        return Math.abs(threshold - 0.5) <= TOLERANCE ? "" : ROUND_STORES;
    }
}
