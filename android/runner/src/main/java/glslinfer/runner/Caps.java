package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.util.Map;

/** The most that a bundle may ask for; glsl_infer/bundle/caps.py says why. */
final class Caps {
    static final int MAX_MANIFEST_BYTES = 16 << 20;
    static final int MAX_DIRECTORY_BYTES = 16 << 20;

    private static final int MAX_SHADER_BYTES = 256 << 10;
    private static final int MAX_DIMENSIONS = 4;

    private Caps() {}

    /**
     * Refuses a manifest that asks for more than any network needs.
     *
     * @throws BundleError naming what there is too much of
     */
    static void check(Manifest manifest, Map<String, byte[]> members) {
        long bytes = 0;
        long drawn = 0;
        long quads = 0;
        for (Program.Texture one : manifest.textures) {
            bytes += 4L * one.width * one.height;
        }
        for (Program.Pass one : manifest.passes) {
            quads += one.quads.size();
            for (Program.Quad quad : one.quads) {
                drawn += (long) quad.width * quad.height;
            }
        }
        atMost("layers", manifest.layers.size(), 2048);
        atMost("textures", manifest.textures.size(), 1 << 14);
        atMost("programs", manifest.programs.size(), 1 << 14);
        atMost("passes", manifest.passes.size(), 1 << 16);
        atMost("quads", quads, 1 << 18);
        atMost("bytes of textures", bytes, 256 << 20);
        atMost("texels drawn in a frame", drawn, 1 << 28);
        for (Map.Entry<String, byte[]> one : members.entrySet()) {
            int size = one.getValue().length;
            if (one.getKey().startsWith("shaders/") && size > MAX_SHADER_BYTES) {
                throw new BundleError("member '" + one.getKey() + "' has " + size
                        + " bytes of GLSL; a shader has at most " + MAX_SHADER_BYTES);
            }
        }
        for (Manifest.Layer layer : manifest.layers) {
            for (int[] shape : layer.weights) {
                if (shape.length > MAX_DIMENSIONS) {
                    throw new BundleError(
                            "layer '" + layer.name + "': a weight has more than " + MAX_DIMENSIONS + " dimensions");
                }
            }
        }
    }

    private static void atMost(String what, long count, long cap) {
        if (count > cap) {
            throw new BundleError(count + " " + what + "; a model has at most " + cap);
        }
    }
}
