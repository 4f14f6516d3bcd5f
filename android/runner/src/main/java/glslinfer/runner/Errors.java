package glslinfer.runner;

/**
 * All exceptions that the runner throws deliberately; {@code glsl_infer/errors.py} has the same hierarchy.
 *
 * <pre>
 *   GlslInferError             base of all
 *   ├── InputError             unusable input
 *   │   ├── BundleError        a model file that is damaged, of another format or too new
 *   │   ├── ImageError         an image of the wrong shape
 *   │   └── LimitError         the driver's limits are too small for the model
 *   └── RunError               a failure with valid input
 *       ├── ShaderError        the driver refused a shader
 *       ├── GlError            the driver reported an error
 *       └── SelfCheckError     the driver's results differ from the reference
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

    /** The input is unusable; the message has the allowed values. */
    public static class InputError extends GlslInferError {
        private static final long serialVersionUID = 1L;

        /** @param message the input, the allowed values, and a remedy */
        public InputError(String message) {
            super(message);
        }
    }

    /** A {@code .glslnn} file that is damaged, of another format or too new. */
    public static final class BundleError extends InputError {
        private static final long serialVersionUID = 1L;

        /** The violated rule; null for that of the reader's cursor. */
        private final Rule broken;

        /** @param message the wrong part and its error */
        public BundleError(String message) {
            this(null, message);
        }

        BundleError(Rule broken, String message) {
            super(message);
            this.broken = broken;
        }

        /** Returns the name of the violated rule of bundle-format.md; null if there is none. */
        public String rule() {
            return broken == null ? null : broken.key;
        }

        /** Returns this error with the name of the file and the rule. */
        BundleError of(String file, Rule checked) {
            Rule rule = broken == null ? checked : broken;
            return new BundleError(rule, file + ": " + getMessage() + " (rule: " + rule.key + ")");
        }
    }

    /** An image of the wrong shape. */
    public static final class ImageError extends InputError {
        private static final long serialVersionUID = 1L;

        ImageError(String message) {
            super(message);
        }
    }

    /** The driver's limits are too small for the model; the message has all of them. */
    public static final class LimitError extends InputError {
        private static final long serialVersionUID = 1L;

        LimitError(String message) {
            super(message);
        }
    }

    /** A failure with valid input. */
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

    /** The driver's results differ from the reference. */
    public static final class SelfCheckError extends RunError {
        private static final long serialVersionUID = 1L;

        SelfCheckError(String message) {
            super(message);
        }
    }
}
