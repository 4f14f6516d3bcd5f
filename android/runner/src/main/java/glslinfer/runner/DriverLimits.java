package glslinfer.runner;

/** Comparison of the driver's limits with those a bundle needs. */
final class DriverLimits {
    private static final int[] NAMES = {
        Gl.GL_MAX_TEXTURE_IMAGE_UNITS,
        Gl.GL_MAX_TEXTURE_SIZE,
        Gl.GL_MAX_FRAGMENT_UNIFORM_VECTORS,
        Gl.GL_MAX_VARYING_VECTORS,
        Gl.GL_MAX_VERTEX_ATTRIBS
    };
    private static final String[] WORDS = {
        "GL_MAX_TEXTURE_IMAGE_UNITS",
        "GL_MAX_TEXTURE_SIZE",
        "GL_MAX_FRAGMENT_UNIFORM_VECTORS",
        "GL_MAX_VARYING_VECTORS",
        "GL_MAX_VERTEX_ATTRIBS"
    };
    private static final String OTHER = "use another device (OpenGL ES 2.0 promises 8)";
    private static final String[] ADVICE = {
        OTHER,
        "use a model of smaller images or fewer channels",
        "export the model with --weights baked",
        OTHER,
        OTHER
    };

    private DriverLimits() {}

    /**
     * Refuses a driver with smaller limits than a bundle needs.
     *
     * @throws Errors.LimitError with all limits that are too small
     */
    static void require(Manifest.Limits needed, Device device) {
        StringBuilder lacks = new StringBuilder();
        StringBuilder advice = new StringBuilder();
        for (int i = 0; i < NAMES.length; i++) {
            int offered = device.gl.glGetInteger(NAMES[i]);
            if (offered < needed.values[i]) {
                lacks.append(lacks.length() > 0 ? "; " : "").append(WORDS[i]).append(" is ").append(offered);
                lacks.append(", the model needs ").append(needed.values[i]);
                if (advice.indexOf(ADVICE[i]) < 0) {
                    advice.append(advice.length() > 0 ? ", and " : "").append(ADVICE[i]);
                }
            }
        }
        if (lacks.length() > 0) {
            throw new Errors.LimitError(
                    "this GPU (" + device.renderer() + ") is too small for the model: " + lacks + "; " + advice);
        }
    }
}
