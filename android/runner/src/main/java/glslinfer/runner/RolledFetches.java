package glslinfer.runner;

/** Which drivers want loops where a shader fetches its weights: Mesa's llvmpipe, which compiles them sooner. */
final class RolledFetches {
    static final String ROLLED_FETCHES = "#define ROLLED_FETCHES\n";

    private RolledFetches() {}

    /** Returns whether shaders should define {@code ROLLED_FETCHES} on a driver, by its GL_RENDERER. */
    static boolean wanted(String renderer) {
        return renderer.contains("llvmpipe");
    }
}
