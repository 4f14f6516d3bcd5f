package glslinfer.runner;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** The GLSL that bundles hold: a subset that a reader understands, so that no driver meets anything else. */
final class ShaderGrammar extends ShaderExpressions {
    /** Kinds of uniforms by name. */
    final Map<String, String> uniforms = new TreeMap<String, String>();

    private static final List<String> NUMBERS = Arrays.asList("float", "vec2", "vec3", "vec4");
    private static final List<String> SIGNS = Arrays.asList("=", "+=", "-=", "*=", "/=");
    private static final List<String> VARIABLES = Arrays.asList("local", "global", "parameter");
    private static final List<String> STATEMENTS = Arrays.asList(FormatConstants.GLSL_STATEMENTS);
    private static final Pattern VARYING = Pattern.compile("coord[0-6]");

    private int depth;
    private int conditional;
    private boolean isOver; // behind main

    /**
     * Checks a fragment shader, without the prelude.
     *
     * @throws Errors.BundleError it is not of the format's GLSL; the message names the member and the line
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

    /** Returns the operations as a compiler sees them. */
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
            declare(name, kind.equals("sampler2D") ? kind : word, word.equals("uniform") ? UNIFORM : ANY, size);
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
            declare(name(), given.equals("sampler2D") ? given : "parameter", given.equals("int") ? INTEGER : ANY, 0);
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
                variable.value = isMain ? null : ANY;
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

    private boolean directive() {
        String token = tokens.get(at);
        if (!token.startsWith("#")) {
            return false;
        }
        next();
        if (token.equals("#if")) {
            branches.add(new Branch(depth, Collections.<Variable>emptyList()));
        } else if (token.equals("#else") || token.equals("#endif")) {
            Branch branch = branches.remove(branches.size() - 1);
            if (branch.depth != depth) {
                throw refused("a condition ends in another block than it begins");
            }
            for (Variable variable : branch.now) {
                if (token.equals("#else") || !branch.before.contains(variable)) {
                    variable.value = null;
                } else if (!branches.isEmpty()) {
                    branches.get(branches.size() - 1).now.add(variable);
                }
            }
            if (token.equals("#else")) {
                branches.add(new Branch(depth, branch.now));
            }
        } else {
            define(lines.macros.get(Integer.parseInt(token.substring(1))));
        }
        return true;
    }

    private void define(ShaderLines.Macro macro) {
        if (macro.body == null) {
            if (macro.certain) {
                macros.remove(macro.name);
            }
            return;
        }
        if (find(macro.name) != null || functions.containsKey(macro.name)) {
            throw refused("macro '" + macro.name + "' has the name of a variable or function");
        }
        List<ShaderLines.Macro> all = new ArrayList<ShaderLines.Macro>();
        if (!macro.certain && macros.containsKey(macro.name)) {
            all.addAll(macros.get(macro.name));
        }
        all.add(macro);
        macros.put(macro.name, all);
    }

    /** Parses statements up to a closing bracket, with names of their own. */
    private void block() {
        expect("{");
        if (++depth > FormatConstants.GLSL_MOST_BLOCKS) {
            throw refused("blocks are too deep in each other");
        }
        scopes.add(new LinkedHashMap<String, Variable>());
        int open = branches.size();
        while (!take("}")) {
            if (!directive()) {
                statement();
            }
        }
        if (branches.size() != open) {
            throw refused("a condition ends in another block than it begins");
        }
        scopes.remove(scopes.size() - 1);
        depth--;
    }

    @Override
    void statement() {
        operators = 0;
        String token = tokens.get(at);
        boolean isCall = peek(1).equals("(");
        if (KINDS.contains(token) && !isCall) {
            declaration(next(), false);
        } else if (take("const")) {
            declaration(next(), true);
        } else if (token.equals("for")) {
            loop();
        } else if (take("if")) {
            expect("(");
            expression();
            expect(")");
            conditional++;
            if (Arrays.asList("if", "for", "{", "const").contains(tokens.get(at)) || KINDS.contains(tokens.get(at))) {
                throw refused("an assignment or 'break' is expected behind 'if'");
            }
            statement();
            conditional--;
        } else if (take("break")) {
            expect(";");
        } else if (take("return")) {
            returned |= expression().marks & WILD;
            expect(";");
        } else if (STATEMENTS.contains(token) && macros.containsKey(token)) {
            macro(next(), true);
        } else if (isCall) {
            if (!functions.containsKey(token)) {
                throw refused("'" + token + "' is no function of the shader");
            }
            expression();
            expect(";");
        } else {
            assignment();
        }
    }

    private void declaration(String kind, boolean isConstant) {
        if (!NUMBERS.contains(kind)) {
            throw refused("'" + shown(kind) + "' is not of this format");
        }
        boolean isLocal = scopes.size() > 1;
        while (true) {
            operators = 0;
            String name = name();
            Value value = (isLocal || isConstant) && take("=") ? expression() : null;
            if (isConstant && (value == null || !value.isKnown())) {
                throw refused("'" + name + "' is no constant");
            }
            declare(name, isConstant ? "const" : isLocal ? "local" : "global", value, 0);
            if (take(";")) {
                return;
            }
            expect(",");
        }
    }

    private void assignment() {
        String name = tokens.get(at).equals("gl_FragColor") ? next() : name();
        if (macros.containsKey(name)) {
            throw refused("a macro, '" + name + "', is no variable");
        }
        Variable variable = find(name);
        if (variable == null || !VARIABLES.contains(variable.kind) && !name.equals("gl_FragColor")) {
            throw refused("'" + name + "' is no variable that can be assigned to");
        }
        boolean part = take(".");
        if (part && !SWIZZLE.matcher(next()).matches()) {
            throw refused("a component is expected");
        }
        String sign = next();
        if (!SIGNS.contains(sign)) {
            throw refused("an assignment is expected, not '" + sign + "'");
        }
        if (variable.value == null && (part || !sign.equals("="))) {
            throw refused("'" + name + "' is used before it has a value");
        }
        Value value = expression();
        if (!sign.equals("=")) {
            value = combine(sign.substring(0, 1), variable.value == null ? ANY : variable.value, value);
        }
        expect(";");
        if (variable.value == null) {
            if (conditional > 0) {
                return;
            }
            if (!branches.isEmpty()) {
                branches.get(branches.size() - 1).now.add(variable);
            }
            variable.value = value;
        } else {
            variable.value = part || conditional > 0 || !branches.isEmpty() ? variable.value.hull(value) : value;
        }
    }

    private void loop() {
        expect("for", "(", "int");
        String turn = name();
        expect("=", "0", ";", turn, "<");
        int start = at;
        Value turns = expression();
        expect(";");
        if (!(take("++") && take(turn))) {
            expect(turn, "++");
        }
        expect(")");
        if (!turns.whole || !(turns.most <= FormatConstants.GLSL_MOST_TURNS)) {
            throw refused("a loop has a constant number of turns, at most " + FormatConstants.GLSL_MOST_TURNS);
        }
        // TURNS may be more than it is given: it ends there.
        String end = peek(start + 2 - at);
        List<String> header = Arrays.asList("TURNS", "(", end, ")", "{", "END_AFTER", "(", end, ",", turn, ")");
        boolean isEnded = true;
        for (int k = 0; k < header.size(); k++) {
            isEnded &= header.get(k).equals(peek(k < 4 ? start + k - at : k - 4));
        }
        scopes.add(new LinkedHashMap<String, Variable>());
        declare(turn, "turn", INTEGER, 0);
        long before = count.executed;
        block();
        scopes.remove(scopes.size() - 1);
        add(0, (long) (Math.max(isEnded ? turns.least : turns.most, 1) - 1) * (count.executed - before));
    }
}
