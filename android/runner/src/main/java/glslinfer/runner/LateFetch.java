package glslinfer.runner;

/**
 * Devices that need the fetches of a shader in sequence: VideoCore IV, whose compiler moves fetches to the front and
 * then has too few registers for their texels; see docs/engineering/videocore-shaders.md.
 */
final class LateFetch {
    static final String LATE_FETCH = "#define LATE_FETCH\n";

    private static final String[] RENDERERS = {"VC4", "VideoCore IV"};

    private LateFetch() {}

    /** Returns whether shaders define {@code LATE_FETCH} on a GPU, by its GL_RENDERER. */
    static boolean wanted(String renderer) {
        for (String name : RENDERERS) {
            if (renderer.contains(name)) {
                return true;
            }
        }
        return false;
    }
}
