package glslinfer.runner;

import glslinfer.runner.ShaderValues.Argument;
import glslinfer.runner.ShaderValues.Value;
import glslinfer.runner.ShaderValues.Variable;
import java.util.Collections;
import java.util.List;
import java.util.regex.Pattern;

/** Parser of expressions in a bundle's GLSL: intervals of their values, and their costs. */
abstract class ShaderExpressions extends ShaderCursor {
    static final Pattern SWIZZLE = Pattern.compile("[xyzw]{1,4}|[rgba]{1,4}");

    private static final String[] LEVELS = {" || ", " && ", " == != ", " < > <= >= ", " + - ", " * / "};

    ShaderExpressions(ShaderLines lines) {
        super(lines);
    }

    /** Parses the arguments of a function; {@code names} has all possible functions of a macro. */
    abstract Value call(List<String> names);

    /** Parses every possible definition of a macro at its use; returns its possible values. */
    abstract Value macro(String name, boolean isStatement);

    Value expression() {
        Value value = binary(1);
        if (take("?")) {
            add(FormatConstants.GLSL_MOST_CHOICE, 1);
            value = binary(1);
            expect(":");
            value = value.hull(binary(1));
        }
        return value;
    }

    private static int level(String token) {
        for (int k = 0; k < LEVELS.length; k++) {
            if (!token.isEmpty() && LEVELS[k].contains(" " + token + " ")) {
                return k + 1;
            }
        }
        return 0;
    }

    private Value binary(int level) {
        Value value = unary();
        while (level(tokens.get(at)) >= level) {
            String sign = next();
            value = combine(sign, value, binary(level(sign) + 1));
        }
        return value;
    }

    /** Returns the value of an operation; refuses operations that can crash compilers. */
    Value combine(String sign, Value left, Value right) {
        operators++;
        add(1, 1);
        if (operators > FormatConstants.GLSL_MOST_OPERATORS) {
            throw refused("a statement has more than " + FormatConstants.GLSL_MOST_OPERATORS + " operations");
        }
        if (level(sign) < 5) {
            return ShaderValues.ANY;
        }
        Value value = ShaderValues.mixed(sign.charAt(0), left, right);
        if (value == null) {
            throw refused("a division by a constant that is 0 or may be, or of integers");
        }
        return value.isKnown() ? constant(value) : value;
    }

    /** Returns a constant; refuses infinite ones, and coordinates too far from the texture. */
    Value constant(Value value) {
        double most = inCoordinate ? FormatConstants.GLSL_MOST_COORDINATE : FormatConstants.MAX_NUMBER;
        if (Math.max(-value.least, value.most) > most) {
            throw refused("a constant is infinite, or too large for a coordinate");
        }
        return value;
    }

    private Value unary() {
        if (take("-")) {
            add(1, 1);
            if (tokens.get(at).equals("-")) {
                throw refused("two signs in a row");
            }
            Value value = unary();
            return new Value(value.whole, -value.most, -value.least, value.marks);
        }
        Value value = primary();
        if (take(".") && !SWIZZLE.matcher(next()).matches()) {
            throw refused("a component is expected");
        }
        return value;
    }

    private Value primary() {
        String token = next();
        if (token.equals("(")) {
            nested(1);
            Value value = expression();
            expect(")");
            nested(-1);
            return value;
        }
        if (!token.isEmpty() && Character.isDigit(token.charAt(0))) {
            double number = Double.parseDouble(token);
            return constant(new Value(token.matches("\\d+"), number, number, 0));
        }
        if (bound.containsKey(token)) {
            Argument given = bound.get(token);
            add(given.cost.written, given.cost.executed);
            return given.value;
        }
        if (macros.containsKey(token)) {
            return macro(token, false);
        }
        if (KINDS.contains(token) || tokens.get(at).equals("(")) {
            return call(Collections.singletonList(token));
        }
        Variable variable = find(token);
        if (variable == null || variable.kind.equals("sampler2D")) {
            throw refused("'" + shown(token) + "' is no name of a number here");
        }
        if (variable.size > 0) {
            expect("[");
            Value index = expression();
            expect("]");
            if (!(index.whole && index.least >= 0 && index.most < variable.size)) {
                throw refused("an index of '" + token + "' is a constant from 0 to " + (variable.size - 1));
            }
        }
        if (variable.value == null) {
            throw refused("'" + token + "' is used before it has a value");
        }
        return variable.value.isKnown() ? constant(variable.value) : variable.value;
    }
}
