package glslinfer.runner;

/**
 * Every exception that the runner throws on purpose; the same tree as {@code glsl_infer/errors.py}.
 *
 * <pre>
 *   GlslInferError             catch this one to catch them all
 *   ├── InputError             what was given cannot be used
 *   │   ├── BundleError        a model file that is damaged, foreign or too new
 *   │   ├── ImageError         a picture of the wrong shape
 *   │   └── LimitError         the driver's limits are too small for the model
 *   └── RunError               it should have worked
 *       ├── ShaderError        the driver refused a shader
 *       ├── GlError            the driver reported an error
 *       └── SelfCheckError     the driver computed something else than the reference
 * </pre>
 */
public final class Errors {
    private Errors() {}

    /** Base of all exceptions of this package. */
    public static class GlslInferError extends RuntimeException {
        private static final long serialVersionUID = 1L;

        GlslInferError(String message) {
            super(message);
        }
    }

    /** What was given cannot be used; the message says what can. */
    public static class InputError extends GlslInferError {
        private static final long serialVersionUID = 1L;

        /** @param message what was given, what is allowed, what to do */
        public InputError(String message) {
            super(message);
        }
    }

    /** A {@code .glslnn} file that is damaged, foreign or too new. */
    public static final class BundleError extends InputError {
        private static final long serialVersionUID = 1L;

        /** What it breaks, where the reader's cursor does not say it. */
        private final Rule broken;

        /** @param message the part that is wrong, and how */
        public BundleError(String message) {
            this(null, message);
        }

        BundleError(Rule broken, String message) {
            super(message);
            this.broken = broken;
        }

        /** Returns the name of the rule of bundle-format.md that the file breaks; null where it is about none. */
        public String rule() {
            return broken == null ? null : broken.key;
        }

        /** Returns the same as a refusal of a file, which names the file and the rule. */
        BundleError of(String file, Rule checked) {
            Rule rule = broken == null ? checked : broken;
            return new BundleError(rule, file + ": " + getMessage() + " (rule: " + rule.key + ")");
        }
    }

    /** A picture of the wrong shape. */
    public static final class ImageError extends InputError {
        private static final long serialVersionUID = 1L;

        ImageError(String message) {
            super(message);
        }
    }

    /** The driver's limits are too small for the model; the message names each. */
    public static final class LimitError extends InputError {
        private static final long serialVersionUID = 1L;

        LimitError(String message) {
            super(message);
        }
    }

    /** Something failed that should have worked. */
    public static class RunError extends GlslInferError {
        private static final long serialVersionUID = 1L;

        RunError(String message) {
            super(message);
        }
    }

    /** The driver refused to compile or link a shader; the message has the layer and the driver's log. */
    public static final class ShaderError extends RunError {
        private static final long serialVersionUID = 1L;

        ShaderError(String message) {
            super(message);
        }
    }

    /** The driver reported an OpenGL error. */
    public static final class GlError extends RunError {
        private static final long serialVersionUID = 1L;

        GlError(String message) {
            super(message);
        }
    }

    /** The driver computed something else than the reference. */
    public static final class SelfCheckError extends RunError {
        private static final long serialVersionUID = 1L;

        SelfCheckError(String message) {
            super(message);
        }
    }
}
