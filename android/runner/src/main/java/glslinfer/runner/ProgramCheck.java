package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Checks that fragment shaders are in the format's GLSL subset, and that passes set all declared uniforms; an unset
 * uniform would be 0 and give wrong results.
 *
 * <p>Vertex shaders can only be those printed in docs/reference/bundle-format.md. A driver can crash on a shader that
 * does not write a varying; comparing the text is sufficient against that.
 */
final class ProgramCheck {
    private ProgramCheck() {}

    /**
     * Refuses a vertex shader that differs from the format's text for its program's number of varyings.
     *
     * @throws BundleError with the program and its member
     */
    static void checkVertexShader(Program.ShaderProgram program, Map<String, byte[]> members) {
        byte[] text = vertexShader(program.varyings).getBytes(Charset.forName("US-ASCII"));
        if (!Arrays.equals(members.get(program.vertex), text)) {
            throw new BundleError("program '" + program.name + "': '" + program.vertex
                    + "' is not the vertex shader of this format for " + program.varyings
                    + " varyings; export the model again");
        }
    }

    private static String vertexShader(int varyings) {
        StringBuilder declarations = new StringBuilder("#version 100\nattribute vec2 position;\n");
        StringBuilder main = new StringBuilder("void main() {\n    gl_Position = vec4(position, 0.0, 1.0);\n");
        for (int k = 0; k < varyings; k++) {
            declarations.append("attribute vec4 corner" + k + ";\nvarying vec4 coord" + k + ";\n");
            main.append("    coord" + k + " = corner" + k + ";\n");
        }
        return declarations.append(main).append("}\n").toString();
    }

    /**
     * Refuses a shader that is not in the GLSL subset, or declares other uniforms than its program sets.
     *
     * @param members has the prelude and the fragment shader of each program
     * @throws BundleError with the shader and its line, or the program and the uniform
     */
    static Map<String, ShaderCheck> checkFragmentShaders(
            Collection<Program.ShaderProgram> programs, Map<String, byte[]> members, Rule.Cursor at) {
        at.rule = Rule.SHADERS;
        if (!linesOf(text(members.get(Program.PRELUDE))).equals(Arrays.asList(FormatConstants.GLSL_PRELUDE))) {
            throw new BundleError(
                    "'" + Program.PRELUDE + "' is not the prelude of this format; export the model again");
        }
        Map<String, ShaderCheck> shaders = new HashMap<String, ShaderCheck>();
        long written = 0;
        long read = 0;
        for (Program.ShaderProgram program : programs) {
            at.rule = Rule.SHADERS;
            ShaderCheck shader = shaders.get(program.fragment);
            if (shader == null) {
                shader = new ShaderCheck(program.fragment, text(members.get(program.fragment)));
                shaders.put(program.fragment, shader);
                read += shader.tokensRead();
                if (read > FormatConstants.GLSL_MOST_ALL_READ) {
                    throw new BundleError(
                            "the shaders have more than " + FormatConstants.GLSL_MOST_ALL_READ + " tokens together");
                }
            }
            written += shader.written();
            if (written > FormatConstants.GLSL_MOST_ALL_WRITTEN) {
                throw new BundleError(
                        "the programs have more than " + FormatConstants.GLSL_MOST_ALL_WRITTEN
                                + " operations together");
            }
            at.rule = Rule.UNIFORMS;
            Set<String> samplers = new TreeSet<String>();
            Set<String> uniforms = new TreeSet<String>();
            for (Map.Entry<String, String> entry : shader.uniforms.entrySet()) {
                (entry.getValue().equals("sampler2D") ? samplers : uniforms).add(entry.getKey());
            }
            Set<String> passed = new TreeSet<String>();
            for (Program.Slot slot : program.uniforms) {
                passed.add(slot.name);
            }
            String where = "program '" + Json.shown(program.name) + "': ";
            compare(new TreeSet<String>(program.samplers), samplers, where, "sampler");
            compare(passed, uniforms, where, "uniform");
            for (Program.Slot slot : program.uniforms) {
                int size = shader.sizes.get(slot.name);
                if (slot.floats != size) {
                    throw new BundleError(where + "passes set " + slot.floats + " numbers of the uniform '" + slot.name
                            + "', which has " + size);
                }
            }
        }
        return shaders;
    }

    /**
     * Refuses uniforms that are not finite, too large, or 0 where a shader divides by them.
     *
     * @throws BundleError with the member, or the pass and the uniform
     */
    static void checkValues(
            Manifest manifest,
            List<Program.Pass> passes,
            Map<String, byte[]> members,
            Map<String, ShaderCheck> shaders,
            Rule.Cursor at) {
        Map<String, FloatBuffer> floats = new HashMap<String, FloatBuffer>();
        for (String name : manifest.floats) {
            FloatBuffer all = ByteBuffer.wrap(members.get(name))
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .asFloatBuffer();
            floats.put(name, all);
            for (int k = 0; k < all.limit(); k++) {
                if (!(Math.abs(all.get(k)) <= FormatConstants.GLSL_MOST_UNIFORM)) { // also refuses NaN
                    throw new BundleError("member '" + name + "' has a number that is not finite, or too large");
                }
            }
        }
        Map<String, Program.ShaderProgram> programs = new HashMap<String, Program.ShaderProgram>();
        for (Program.ShaderProgram program : manifest.programs) {
            programs.put(program.name, program);
        }
        Map<String, Integer> widths = new HashMap<String, Integer>();
        for (Program.Texture texture : manifest.textures) {
            widths.put(texture.name, texture.width);
        }
        for (int index = 0; index < passes.size(); index++) {
            Program.Pass entry = passes.get(index);
            Program.ShaderProgram program = programs.get(entry.program);
            ShaderCheck shader = shaders.get(program.fragment);
            Set<String> divisors = shader.divisors;
            if (shader.needsCoordinatesInside && rightmost(entry, widths) > 2) {
                at.rule = Rule.PASSES;
                throw new BundleError("pass " + index + ": loops need a coordinate of at most 2");
            }
            for (int k = 0; k < program.uniforms.size(); k++) {
                String name = program.uniforms.get(k).name;
                if (divisors.contains(name) && hasZero(entry.uniforms[k], floats)) {
                    throw new BundleError(
                            "pass " + index + ": its shader divides by '" + name + "', which is 0 or almost");
                }
            }
        }
    }

    /** Returns the largest first coordinate of a pass's fragments. */
    private static double rightmost(Program.Pass pass, Map<String, Integer> widths) {
        Program.Source source = pass.sources.get(0);
        double most = Double.NEGATIVE_INFINITY;
        for (Program.Quad quad : pass.quads) {
            double far = Math.max(-0.5 * source.strideX, (quad.width - 0.5) * source.strideX);
            most = Math.max(most, quad.origins[0] + 0.5 + far);
        }
        return most / widths.get(pass.textures.get(source.unit));
    }

    private static boolean hasZero(Program.Uniform value, Map<String, FloatBuffer> floats) {
        for (int k = 0; k < value.count; k++) {
            float number = value.member == null
                    ? value.numbers[k]
                    : floats.get(value.member).get(value.offset + k);
            if (Math.abs(number) < 1.0 / FormatConstants.GLSL_MOST_UNIFORM) {
                return true;
            }
        }
        return false;
    }

    private static List<String> linesOf(String text) {
        List<String> lines = new ArrayList<String>();
        for (String line : text.split("\n")) {
            int end = line.contains("//") ? line.indexOf("//") : line.length();
            while (end > 0 && line.charAt(end - 1) == ' ') {
                end--;
            }
            if (end > 0) {
                lines.add(line.substring(0, end));
            }
        }
        return lines;
    }

    private static void compare(Set<String> passed, Set<String> declared, String where, String kind) {
        for (String name : declared) {
            if (!passed.contains(name)) {
                throw new BundleError(
                        where + "its shader declares the " + kind + " '" + name + "', which no pass sets");
            }
        }
        for (String name : passed) {
            if (!declared.contains(name)) {
                throw new BundleError(
                        where + "passes set the " + kind + " '" + name + "', which its shader does not declare");
            }
        }
    }

    private static String text(byte[] member) {
        return new String(member, Charset.forName("ISO-8859-1"));
    }
}
