package glslinfer.runner;

/** The rules of docs/reference/bundle-format.md, named by refusals of a bundle. */
enum Rule {
    CONTAINER("container"),
    VERSION("version"),
    KEYS("keys"),
    UNIQUE_NAMES("unique names"),
    MEMBERS("members"),
    CAPS("caps"),
    TEXTURES("textures"),
    PROGRAMS("programs"),
    VERTEX_SHADERS("vertex shaders"),
    SHADERS("shaders"),
    PASSES_BIN("passes.bin"),
    PASSES("passes"),
    UNIFORMS("uniforms"),
    INPUTS("inputs"),
    OUTPUTS("outputs"),
    LABELS("labels"),
    PROBE("probe"),
    LIMITS("limits"),
    PARTS("parts");

    /** Its name in messages and in the conformance bundles. */
    final String key;

    Rule(String key) {
        this.key = key;
    }

    /** Returns the rule of a name. */
    static Rule of(String key) {
        return valueOf(key.toUpperCase(java.util.Locale.ROOT));
    }

    /** The rule being checked by a reader, for refusals without another rule. */
    static final class Cursor {
        Rule rule = CONTAINER;
    }
}
