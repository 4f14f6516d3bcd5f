package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.nio.charset.Charset;
import java.util.Arrays;
import java.util.Map;

/**
 * Check of vertex shaders: bundles can have only those printed in docs/reference/bundle-format.md.
 *
 * <p>A driver can crash on a shader that does not write a varying; comparing the text is sufficient against that.
 */
final class VertexShader {
    private VertexShader() {}

    /**
     * Refuses a vertex shader that differs from the format's text for its program's number of varyings.
     *
     * @throws BundleError with the program and its member
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
