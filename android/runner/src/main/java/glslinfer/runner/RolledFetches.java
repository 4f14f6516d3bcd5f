package glslinfer.runner;

/** Drivers that need loops for the fetches of weights: Mesa's llvmpipe, which compiles them faster. */
final class RolledFetches {
    static final String ROLLED_FETCHES = "#define ROLLED_FETCHES\n";

    private RolledFetches() {}

    /** Returns whether shaders define {@code ROLLED_FETCHES} on a driver, by its GL_RENDERER. */
    static boolean wanted(String renderer) {
        return renderer.contains("llvmpipe");
    }
}
