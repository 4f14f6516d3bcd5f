package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.nio.charset.Charset;
import java.util.Arrays;
import java.util.Map;

/**
 * The vertex shaders of a bundle are those that docs/reference/bundle-format.md prints, and no others.
 *
 * <p>A driver may crash on one that leaves a varying unwritten; comparing is all it takes to be safe from that.
 */
final class VertexShader {
    private VertexShader() {}

    /**
     * Refuses a vertex shader that is not the format's text for as many varyings as its program has.
     *
     * @throws BundleError naming the program and its member
     */
    static void check(Program.ShaderProgram program, Map<String, byte[]> members) {
        byte[] wanted = text(program.varyings).getBytes(Charset.forName("US-ASCII"));
        if (!Arrays.equals(members.get(program.vertex), wanted)) {
            throw new BundleError("program '" + program.name + "': '" + program.vertex
                    + "' is not the vertex shader of this format for " + program.varyings
                    + " varyings; export the model again");
        }
    }

    private static String text(int varyings) {
        StringBuilder declarations = new StringBuilder("#version 100\nattribute vec2 position;\n");
        StringBuilder main = new StringBuilder("void main() {\n    gl_Position = vec4(position, 0.0, 1.0);\n");
        for (int k = 0; k < varyings; k++) {
            declarations.append("attribute vec4 corner" + k + ";\nvarying vec4 coord" + k + ";\n");
            main.append("    coord" + k + " = corner" + k + ";\n");
        }
        return declarations.append(main).append("}\n").toString();
    }
}
