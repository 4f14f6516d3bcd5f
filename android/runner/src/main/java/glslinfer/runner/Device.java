package glslinfer.runner;

/**
 * What is known of one OpenGL ES 2.0 context: how its stores round, and whose state it has.
 *
 * <p>Make one for each context, in its thread; when a context is lost, make another. Where other code draws in the same
 * context (a preview), call {@link #touched()} after it, and sessions set their vertex arrays and fixed state again.
 */
public final class Device {
    final Gl gl;

    /** The session whose vertex arrays and fixed state the context has, if any. */
    Object owner;

    /** What {@link #deviceLines} returns, once it is known. */
    String lines;

    private double threshold;

    /** @param gl the calls of the context that is current in this thread */
    public Device(Gl gl) {
        this.gl = gl;
    }

    /** Says that somebody else changed vertex arrays, bound buffers or fixed state of the context. */
    public void touched() {
        owner = null;
    }

    /** Returns GL_RENDERER, empty where the driver has none. */
    public String renderer() {
        String name = gl.glGetString(Gl.GL_RENDERER);
        return name == null ? "" : name;
    }

    /** Returns the fraction of a step from which a store to RGBA8 rounds up, measured once; 0.5 is to nearest. */
    public double storeThreshold() {
        deviceLines();
        return threshold;
    }

    /** Returns the {@code #define} lines that fragment shaders get on this device, after the prelude. */
    String deviceLines() {
        if (lines == null) {
            touched();
            threshold = Rounding.storeThreshold(gl);
            lines = Rounding.deviceLines(threshold)
                    + (LateFetch.wanted(renderer()) ? LateFetch.LATE_FETCH : "")
                    + (RolledFetches.wanted(renderer()) ? RolledFetches.ROLLED_FETCHES : "");
        }
        return lines;
    }
}
