package glslinfer.runner;

/**
 * Properties and state of an OpenGL ES 2.0 context: the rounding of stores, and the owner of its state.
 *
 * <p>Create one for each context, on its thread, and again after a lost context. If other code draws in the same
 * context (a preview), call {@link #touched()} after it; then sessions set their vertex arrays and fixed state again.
 */
public final class Device {
    /** Parts of GL_RENDERER on VideoCore IV. */
    private static final String[] VIDEOCORE = {"VC4", "VideoCore IV"};

    final Gl gl;

    /** The session with the current vertex arrays and fixed state; null for none. */
    Object owner;

    /** Result of {@link #deviceLines}; null before the first call. */
    String lines;

    private double threshold;

    /** @param gl calls of the current context of this thread */
    public Device(Gl gl) {
        this.gl = gl;
    }

    /** Marks the state of the context as changed by other code: vertex arrays, bound buffers or fixed state. */
    public void touched() {
        owner = null;
    }

    /** Returns GL_RENDERER; empty if the driver has none. */
    public String renderer() {
        String name = gl.glGetString(Gl.GL_RENDERER);
        return name == null ? "" : name;
    }

    /** Returns the fraction of a step from which a store to RGBA8 rounds up, measured once; 0.5 is to nearest. */
    public double storeThreshold() {
        deviceLines();
        return threshold;
    }

    /** Returns the {@code #define} lines for fragment shaders on this device, after the prelude. */
    String deviceLines() {
        if (lines == null) {
            touched();
            threshold = Rounding.storeThreshold(gl);
            lines = Rounding.deviceLines(threshold)
                    + (wantsOrderedFetches(renderer()) ? "#define LATE_FETCH\n" : "")
                    + (wantsRolledFetches(renderer()) ? "#define ROLLED_FETCHES\n" : "");
        }
        return lines;
    }

    /**
     * Returns whether shaders define {@code LATE_FETCH} on a GPU, by its GL_RENDERER: on VideoCore IV, whose compiler
     * moves fetches to the front and then has too few registers for their texels; see
     * docs/engineering/videocore-shaders.md.
     */
    static boolean wantsOrderedFetches(String renderer) {
        for (String name : VIDEOCORE) {
            if (renderer.contains(name)) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether shaders define {@code ROLLED_FETCHES} on a driver: Mesa's llvmpipe compiles loops faster. */
    static boolean wantsRolledFetches(String renderer) {
        return renderer.contains("llvmpipe");
    }
}
