package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.util.List;
import java.util.Map;

/** Limits of a bundle's resources; glsl_infer/bundle/caps.py has the reasons. */
final class Caps {
    private Caps() {}

    /**
     * Refuses a manifest with larger resources than any network needs, other than the lengths of its lists.
     *
     * @throws BundleError with the exceeded limit
     */
    static void check(Manifest manifest, Map<String, byte[]> members) {
        long bytes = 0;
        for (Program.Texture texture : manifest.textures) {
            bytes += 4L * texture.width * texture.height;
        }
        atMost("bytes of textures", bytes, FormatConstants.MAX_TEXTURE_BYTES);
        for (Map.Entry<String, byte[]> member : members.entrySet()) {
            int size = member.getValue().length;
            if (member.getKey().startsWith("shaders/") && size > FormatConstants.MAX_SHADER_BYTES) {
                throw new BundleError(
                        Rule.CAPS,
                        "member '" + member.getKey() + "' has " + size + " bytes of GLSL; a shader has at most "
                                + FormatConstants.MAX_SHADER_BYTES);
            }
        }
    }

    /**
     * Refuses passes that draw more than any network needs.
     *
     * @throws BundleError with the number of texels
     */
    static void check(List<Program.Pass> passes) {
        long drawn = 0;
        for (Program.Pass pass : passes) {
            for (Program.Quad quad : pass.quads) {
                drawn += (long) quad.width * quad.height;
            }
        }
        atMost("texels drawn in a frame", drawn, FormatConstants.MAX_DRAWN_TEXELS);
    }

    /** Refuses an input or output ({@code what}) with more elements than any network needs. */
    static void checkNumbers(long numbers, String what) {
        atMost("numbers in " + what, numbers, FormatConstants.MAX_RESULT);
    }

    private static void atMost(String what, long count, long cap) {
        if (count > cap) {
            throw new BundleError(Rule.CAPS, count + " " + what + "; a model has at most " + cap);
        }
    }
}
