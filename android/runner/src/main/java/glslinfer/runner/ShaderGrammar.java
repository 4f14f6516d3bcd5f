package glslinfer.runner;

import glslinfer.runner.ShaderValues.Called;
import glslinfer.runner.ShaderValues.Cost;
import glslinfer.runner.ShaderValues.Value;
import glslinfer.runner.ShaderValues.Variable;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** Parser of the GLSL subset in bundles, so that drivers compile only checked code. */
final class ShaderGrammar extends ShaderStatements {
    /** Kinds of uniforms by name. */
    final Map<String, String> uniforms = new TreeMap<String, String>();

    private static final Pattern VARYING = Pattern.compile("coord[0-6]");

    private boolean isOver; // after main

    /**
     * Checks a fragment shader, without the prelude.
     *
     * @throws Errors.BundleError it is not in the format's GLSL subset; with the member and the line
     */
    ShaderGrammar(String member, String text) {
        super(new ShaderLines(member, text));
        while (!take("")) {
            if (!directive()) {
                outermost(next());
            }
        }
        if (!isOver) {
            throw refused("the shader has no main");
        }
    }

    /** Returns the number of operations as compilers see them. */
    long written() {
        return functions.get("main").cost.written;
    }

    private void outermost(String word) {
        if (word.equals("varying") || word.equals("uniform")) {
            String kind = next();
            String name = name();
            int size = word.equals("uniform") && kind.equals("vec4") && take("[") ? size() : 0;
            boolean foreign = word.equals("varying") && !VARYING.matcher(name).matches();
            if (!KINDS.contains(kind) || kind.equals("int") || foreign) {
                throw refused("the " + word + " '" + name + "' is not of this format");
            }
            expect(";");
            Value value = word.equals("uniform") ? ShaderValues.UNIFORM : ShaderValues.ANY;
            declare(name, kind.equals("sampler2D") ? kind : word, value, size);
            if (word.equals("uniform")) {
                uniforms.put(name, kind);
            }
        } else if (word.equals("const")) {
            declaration(next(), true);
        } else if (peek(1).equals("(")) {
            function(word);
        } else {
            declaration(word, false);
        }
    }

    private int size() {
        Value value = expression();
        expect("]");
        if (!(value.least >= 1 && value.most <= FormatConstants.GLSL_MOST_ARRAY)) {
            throw refused("an array has a constant size of 1 to " + FormatConstants.GLSL_MOST_ARRAY);
        }
        return (int) value.least;
    }

    private void function(String kind) {
        String name = name();
        expect("(");
        scopes.add(new LinkedHashMap<String, Variable>());
        while (!take(")")) {
            String given = next();
            if (!KINDS.contains(given)) {
                throw refused("a parameter of '" + name + "' has the type '" + given + "'");
            }
            Value value = given.equals("int") ? ShaderValues.INTEGER : ShaderValues.ANY;
            declare(name(), given.equals("sampler2D") ? given : "parameter", value, 0);
            if (!tokens.get(at).equals(")")) {
                expect(",");
            }
        }
        boolean isMain = name.equals("main") && kind.equals("void");
        boolean isTaken = FUNCTIONS.contains(name) || CURVES.contains(name) || name.equals("texture2D");
        boolean isKind = NUMBERS.contains(kind) || kind.equals("int") || kind.equals("void");
        if (isOver || isTaken || macros.containsKey(name) || !isKind || name.equals("main") != isMain) {
            throw refused("the function '" + name + "' is not of this format, or stands behind main");
        }
        for (Variable variable : scopes.get(0).values()) {
            if (variable.kind.equals("global")) {
                variable.value = isMain ? null : ShaderValues.ANY;
            }
        }
        isOver = isMain;
        count = new Cost(0, 0);
        fetches = false;
        returned = 0;
        block();
        scopes.remove(scopes.size() - 1);
        Called called = functions.containsKey(name) ? functions.get(name) : new Called();
        called.cost = called.cost.max(count);
        called.fetches |= fetches;
        called.wild |= returned;
        functions.put(name, called);
    }
}
