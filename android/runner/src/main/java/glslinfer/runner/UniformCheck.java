package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Whether passes set every uniform that their shader declares: one that nobody sets holds 0, and results are wrong. */
final class UniformCheck {
    private static final Pattern COMMENT = Pattern.compile("/\\*.*?\\*/|//[^\\n]*", Pattern.DOTALL);
    private static final Pattern WORD = Pattern.compile("\\buniform\\b");
    private static final Pattern DECLARATION =
            Pattern.compile(
                    "\\buniform\\s+(?:(?:lowp|mediump|highp)\\s+)?(sampler2D|float|vec[234])\\s+([A-Za-z_]\\w*)"
                            + "\\s*(?:\\[[^\\]]*\\])?\\s*;");

    /** What a runner may define for a device or not; a driver may define what begins with GL_ or __. */
    private static final List<String> DEVICE = Arrays.asList("ROUND_STORES", "LATE_FETCH", "ROLLED_FETCHES");

    private UniformCheck() {}

    /** What is known of a macro, or of the branch of a condition. */
    private enum State {
        YES,
        NO,
        PERHAPS;

        State not() {
            return this == PERHAPS ? this : this == YES ? NO : YES;
        }
    }

    /**
     * Refuses a program whose fragment shader declares other uniforms than the program sets.
     *
     * @param members has the prelude and the fragment shader of each program
     * @throws BundleError naming the program and the uniform
     */
    static void check(Collection<Program.ShaderProgram> programs, Map<String, byte[]> members) {
        String prelude = text(members.get(Program.PRELUDE));
        Map<String, Map<String, String>> known = new HashMap<String, Map<String, String>>();
        for (Program.ShaderProgram program : programs) {
            String where = "program '" + Fields.shown(program.name) + "': ";
            Map<String, String> declared = known.get(program.fragment);
            if (declared == null) {
                declared = declared(prelude + "\n" + text(members.get(program.fragment)), where);
                known.put(program.fragment, declared);
            }
            Set<String> samplers = new TreeSet<String>();
            Set<String> uniforms = new TreeSet<String>();
            for (Map.Entry<String, String> entry : declared.entrySet()) {
                (entry.getValue().equals("sampler2D") ? samplers : uniforms).add(entry.getKey());
            }
            Set<String> given = new TreeSet<String>();
            for (Program.Slot slot : program.uniforms) {
                given.add(slot.name);
            }
            compare(new TreeSet<String>(program.samplers), samplers, where, "sampler");
            compare(given, uniforms, where, "uniform");
        }
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
        return new String(member, Charset.forName("US-ASCII"));
    }

    /** Returns the type of every uniform that is declared in lines that a device may compile, by name. */
    private static Map<String, String> declared(String shader, String where) {
        String text = compiled(COMMENT.matcher(shader).replaceAll(" "), where);
        Map<String, String> types = new TreeMap<String, String>();
        int count = 0;
        for (Matcher found = DECLARATION.matcher(text); found.find(); count++) {
            types.put(found.group(2), found.group(1));
        }
        for (Matcher words = WORD.matcher(text); words.find(); ) {
            count--;
        }
        if (count != 0) {
            throw new BundleError(where + "a uniform is not declared on its own, as 'uniform vec4 name;'");
        }
        return types;
    }

    /**
     * Returns the lines that are left when {@code #ifdef} and {@code #ifndef} are decided. Both branches are left where
     * a device decides, or what a device decides; so is what stands behind other conditions.
     */
    private static String compiled(String text, String where) {
        Map<String, State> macros = new HashMap<String, State>();
        for (String name : DEVICE) {
            macros.put(name, State.PERHAPS);
        }
        List<State> branches = new ArrayList<State>();
        StringBuilder out = new StringBuilder();
        for (String line : text.split("\n", -1)) {
            String[] words = line.replace("#", " # ").trim().split("\\s+");
            if (!words[0].equals("#") || words.length < 2) {
                if (!branches.contains(State.NO)) {
                    out.append(line).append('\n');
                }
                continue;
            }
            directive(words[1], words.length > 2 ? words[2] : "", macros, branches, where);
        }
        return out.toString();
    }

    private static void directive(
            String directive, String name, Map<String, State> macros, List<State> branches, String where) {
        int last = branches.size() - 1;
        if (directive.equals("ifdef") || directive.equals("ifndef")) {
            State state = macros.get(name);
            if (state == null) {
                state = name.startsWith("GL_") || name.startsWith("__") ? State.PERHAPS : State.NO;
            }
            branches.add(directive.equals("ifdef") ? state : state.not());
        } else if (directive.equals("if")) {
            branches.add(State.PERHAPS);
        } else if (new HashSet<String>(Arrays.asList("else", "elif", "endif")).contains(directive)) {
            if (last < 0) {
                throw new BundleError(where + "#" + directive + " without a condition");
            }
            State state = branches.remove(last);
            if (!directive.equals("endif")) {
                branches.add(directive.equals("elif") ? State.PERHAPS : state.not());
            }
        } else if ((directive.equals("define") || directive.equals("undef")) && !branches.contains(State.NO)) {
            boolean certain = !branches.contains(State.PERHAPS);
            macros.put(name, !certain ? State.PERHAPS : directive.equals("define") ? State.YES : State.NO);
        }
    }
}
