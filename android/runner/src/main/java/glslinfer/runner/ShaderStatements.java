package glslinfer.runner;

import glslinfer.runner.ShaderValues.Branch;
import glslinfer.runner.ShaderValues.Value;
import glslinfer.runner.ShaderValues.Variable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;

/** Parser of statements in a bundle's GLSL: assignments and costs. */
abstract class ShaderStatements extends ShaderCalls {
    static final List<String> NUMBERS = Arrays.asList("float", "vec2", "vec3", "vec4");

    private static final List<String> SIGNS = Arrays.asList("=", "+=", "-=", "*=", "/=");
    private static final List<String> VARIABLES = Arrays.asList("local", "global", "parameter");
    private static final List<String> STATEMENTS = Arrays.asList(FormatConstants.GLSL_STATEMENTS);

    private int depth;
    private int conditional;

    ShaderStatements(ShaderLines lines) {
        super(lines);
    }

    /** Parses a condition or a definition, if it is next; returns whether it was. */
    boolean directive() {
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

    /** Parses statements up to a closing bracket, in a new scope. */
    void block() {
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
            add(FormatConstants.GLSL_MOST_CHOICE, 1);
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
            returned |= expression().marks & ShaderValues.WILD;
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

    void declaration(String kind, boolean isConstant) {
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
            value = combine(sign.substring(0, 1), variable.value == null ? ShaderValues.ANY : variable.value, value);
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
        // Ends before TURNS.
        String end = peek(start + 2 - at);
        List<String> header = Arrays.asList("TURNS", "(", end, ")", "{", "END_AFTER", "(", end, ",", turn, ")");
        boolean isEnded = true;
        for (int k = 0; k < header.size(); k++) {
            isEnded &= header.get(k).equals(peek(k < 4 ? start + k - at : k - 4));
        }
        scopes.add(new LinkedHashMap<String, Variable>());
        declare(turn, "turn", ShaderValues.INTEGER, 0);
        long before = count.executed;
        block();
        scopes.remove(scopes.size() - 1);
        long turning = (long) (Math.max(isEnded ? turns.least : turns.most, 1) - 1) * (count.executed - before);
        add(FormatConstants.GLSL_MOST_LOOP, turning);
    }
}
