package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.util.List;
import java.util.Map;

/** The most that a bundle may ask for; glsl_infer/bundle/caps.py says why. */
final class Caps {
    /** Of manifest.json, and of graph.json. */
    static final int MAX_MANIFEST_BYTES = 16 << 20;

    static final int MAX_DIRECTORY_BYTES = 16 << 20;

    private static final int MAX_SHADER_BYTES = 256 << 10;

    private Caps() {}

    /**
     * Refuses a manifest that asks for more than any network needs.
     *
     * @throws BundleError naming what there is too much of
     */
    static void check(Manifest manifest, Map<String, byte[]> members) {
        long bytes = 0;
        for (Program.Texture texture : manifest.textures) {
            bytes += 4L * texture.width * texture.height;
        }
        atMost("layers", manifest.layers.size(), 2048);
        atMost("textures", manifest.textures.size(), 1 << 14);
        atMost("programs", manifest.programs.size(), 1 << 14);
        atMost("members with floats", manifest.floats.size(), 1 << 14);
        atMost("passes", manifest.passCount, 1 << 16);
        atMost("quads", manifest.quadCount, 1 << 18);
        atMost("bytes of textures", bytes, 256 << 20);
        for (Map.Entry<String, byte[]> member : members.entrySet()) {
            int size = member.getValue().length;
            if (member.getKey().startsWith("shaders/") && size > MAX_SHADER_BYTES) {
                throw new BundleError("member '" + member.getKey() + "' has " + size
                        + " bytes of GLSL; a shader has at most " + MAX_SHADER_BYTES);
            }
        }
    }

    /**
     * Refuses passes that draw more than any network needs.
     *
     * @throws BundleError saying how many texels there are
     */
    static void check(List<Program.Pass> passes) {
        long drawn = 0;
        for (Program.Pass pass : passes) {
            for (Program.Quad quad : pass.quads) {
                drawn += (long) quad.width * quad.height;
            }
        }
        atMost("texels drawn in a frame", drawn, 1 << 28);
    }

    private static void atMost(String what, long count, long cap) {
        if (count > cap) {
            throw new BundleError(count + " " + what + "; a model has at most " + cap);
        }
    }
}
