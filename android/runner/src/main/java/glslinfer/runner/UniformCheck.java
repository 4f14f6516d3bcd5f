package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
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
 * Whether fragment shaders are of the format's GLSL, and passes set every uniform that they declare: one that nobody
 * sets holds 0, and results are wrong.
 */
final class UniformCheck {
    private UniformCheck() {}

    /**
     * Refuses a shader that is not of the format's GLSL, or declares other uniforms than its program sets.
     *
     * @param members has the prelude and the fragment shader of each program
     * @throws BundleError naming the shader and its line, or the program and the uniform
     */
    static void check(Collection<Program.ShaderProgram> programs, Map<String, byte[]> members, Rule.Cursor at) {
        at.rule = Rule.SHADERS;
        if (!linesOf(text(members.get(Program.PRELUDE))).equals(Arrays.asList(FormatConstants.GLSL_PRELUDE))) {
            throw new BundleError(
                    "'" + Program.PRELUDE + "' is not the prelude of this format; export the model again");
        }
        Map<String, ShaderCheck> known = new HashMap<String, ShaderCheck>();
        long written = 0;
        for (Program.ShaderProgram program : programs) {
            at.rule = Rule.SHADERS;
            ShaderCheck shader = known.get(program.fragment);
            if (shader == null) {
                shader = new ShaderCheck(program.fragment, text(members.get(program.fragment)));
                known.put(program.fragment, shader);
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
            Set<String> given = new TreeSet<String>();
            for (Program.Slot slot : program.uniforms) {
                given.add(slot.name);
            }
            String where = "program '" + Fields.shown(program.name) + "': ";
            compare(new TreeSet<String>(program.samplers), samplers, where, "sampler");
            compare(given, uniforms, where, "uniform");
        }
    }

    private static List<String> linesOf(String text) {
        List<String> lines = new ArrayList<String>();
        for (String whole : text.split("\n")) {
            int end = whole.contains("//") ? whole.indexOf("//") : whole.length();
            while (end > 0 && whole.charAt(end - 1) == ' ') {
                end--;
            }
            if (end > 0) {
                lines.add(whole.substring(0, end));
            }
        }
        return lines;
    }

    private static void compare(Set<String> given, Set<String> declared, String where, String what) {
        for (String name : declared) {
            if (!given.contains(name)) {
                throw new BundleError(
                        where + "its shader declares the " + what + " '" + name + "', which no pass sets");
            }
        }
        for (String name : given) {
            if (!declared.contains(name)) {
                throw new BundleError(
                        where + "passes set the " + what + " '" + name + "', which its shader does not declare");
            }
        }
    }

    private static String text(byte[] member) {
        return new String(member, Charset.forName("ISO-8859-1"));
    }
}
