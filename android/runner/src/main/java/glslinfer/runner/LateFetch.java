package glslinfer.runner;

/**
 * Which GPUs want a shader's fetches one after the other: VideoCore IV, whose compiler has too few registers to hold
 * the texels of fetches that it moves to the front; see docs/engineering/videocore-shaders.md.
 */
final class LateFetch {
    static final String LATE_FETCH = "#define LATE_FETCH\n";

    private static final String[] RENDERERS = {"VC4", "VideoCore IV"};

    private LateFetch() {}

    /** Returns whether shaders should define {@code LATE_FETCH} on a GPU, by its GL_RENDERER. */
    static boolean wanted(String renderer) {
        for (String name : RENDERERS) {
            if (renderer.contains(name)) {
                return true;
            }
        }
        return false;
    }
}
