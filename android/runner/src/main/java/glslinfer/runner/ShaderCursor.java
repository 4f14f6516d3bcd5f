package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import glslinfer.runner.ShaderValues.Argument;
import glslinfer.runner.ShaderValues.Branch;
import glslinfer.runner.ShaderValues.Called;
import glslinfer.runner.ShaderValues.Cost;
import glslinfer.runner.ShaderValues.Value;
import glslinfer.runner.ShaderValues.Variable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** State of the GLSL parser in the tokens of a shader: position, declared names, and counts. */
abstract class ShaderCursor {
    static final List<String> KINDS = Arrays.asList(FormatConstants.GLSL_TYPES);

    private static final Pattern NAME = Pattern.compile("(?!gl_|webgl_|_webgl_|\\w*__)[A-Za-z_]\\w*");
    private static final List<String> WORDS = Arrays.asList("for", "if", "return", "void", "const");

    final ShaderLines lines;
    List<String> tokens;
    int at;
    final Map<String, List<ShaderLines.Macro>> macros = new HashMap<String, List<ShaderLines.Macro>>();
    final Map<String, Called> functions = new HashMap<String, Called>();
    final List<Map<String, Variable>> scopes = new ArrayList<Map<String, Variable>>();
    final List<Branch> branches = new ArrayList<Branch>();
    Cost count = new Cost(0, 0);
    int operators;

    /** True if the current function fetches texels, and the marks of its results. */
    boolean fetches;

    int returned;

    Map<String, Argument> bound = new HashMap<String, Argument>();
    int place = -1;
    private int used;
    private int deep;
    int expanding;
    boolean inCoordinate;

    ShaderCursor(ShaderLines lines) {
        this.lines = lines;
        tokens = new ArrayList<String>(lines.tokens);
        tokens.add("");
        scopes.add(new LinkedHashMap<String, Variable>());
        scopes.get(0).put("gl_FragColor", new Variable("vec4", null, 0));
    }

    BundleError refused(String what) {
        int where = Math.min(place < 0 ? at : place, lines.numbers.size() - 1);
        return lines.refused(where < 0 ? 1 : lines.numbers.get(where), what);
    }

    String peek(int ahead) {
        return at + ahead >= 0 && at + ahead < tokens.size() ? tokens.get(at + ahead) : "";
    }

    String next() {
        String token = tokens.get(at);
        at += token.isEmpty() ? 0 : 1;
        if (++used > FormatConstants.GLSL_MOST_EXPANDED) {
            throw refused(
                    "the shader has more than " + FormatConstants.GLSL_MOST_EXPANDED + " tokens with its macros");
        }
        return token;
    }

    boolean take(String token) {
        boolean found = tokens.get(at).equals(token);
        if (found) {
            next();
        }
        return found;
    }

    void expect(String... wanted) {
        for (String token : wanted) {
            if (!take(token)) {
                throw refused("'" + token + "' is expected, not '" + tokens.get(at) + "'");
            }
        }
    }

    void add(long written, long executed) {
        count = new Cost(count.written + written, count.executed + executed);
        if (count.written > FormatConstants.GLSL_MOST_WRITTEN || count.executed > FormatConstants.GLSL_MOST_EXECUTED) {
            throw refused("the shader has more operations than any of this format");
        }
    }

    String name() {
        String token = next();
        if (!NAME.matcher(token).matches() || KINDS.contains(token) || WORDS.contains(token)) {
            throw refused("a name is expected, not '" + token + "'");
        }
        return token;
    }

    Variable find(String name) {
        for (int k = scopes.size() - 1; k >= 0; k--) {
            if (scopes.get(k).containsKey(name)) {
                return scopes.get(k).get(name);
            }
        }
        return null;
    }

    void declare(String name, String kind, Value value, int size) {
        add(1, 1);
        if (macros.containsKey(name)) {
            throw refused("'" + name + "' is a macro already");
        }
        Map<String, Variable> scope = scopes.get(scopes.size() - 1);
        Variable before = scope.get(name);
        boolean both = before != null && before.value != null && value != null && !branches.isEmpty();
        scope.put(name, new Variable(kind, both ? before.value.hull(value) : value, size));
    }

    void nested(int step) {
        deep += step;
        if (deep > FormatConstants.GLSL_MOST_BRACKETS) {
            throw refused("brackets are more than " + FormatConstants.GLSL_MOST_BRACKETS + " deep in each other");
        }
    }

    static String shown(String token) {
        return token.substring(0, Math.min(20, token.length()));
    }
}
