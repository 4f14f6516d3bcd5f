package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Expressions of the GLSL that bundles hold: what they may be worth, and what they cost. */
abstract class ShaderExpressions {
    static final int WILD = 1;
    static final int PLAIN = 2;
    static final Value ANY = new Value(false, Double.NaN, Double.NaN, 0);
    static final Value INTEGER = new Value(true, Double.NaN, Double.NaN, 0);
    static final Value UNIFORM = new Value(false, Double.NaN, Double.NaN, PLAIN);
    static final List<String> KINDS = Arrays.asList(FormatConstants.GLSL_TYPES);
    static final List<String> FUNCTIONS = Arrays.asList(FormatConstants.GLSL_FUNCTIONS);
    static final List<String> WILD_FUNCTIONS = Arrays.asList(FormatConstants.GLSL_WILD);
    static final List<String> CURVES = Arrays.asList(FormatConstants.GLSL_CURVES);
    static final Pattern SWIZZLE = Pattern.compile("[xyzw]{1,4}|[rgba]{1,4}");

    private static final Pattern NAME = Pattern.compile("(?!gl_|webgl_|_webgl_|\\w*__)[A-Za-z_]\\w*");
    private static final List<String> WORDS = Arrays.asList("for", "if", "return", "void", "const");
    private static final String[] LEVELS = {" || ", " && ", " == != ", " < > <= >= ", " + - ", " * / "};
    private static final double TINY = 1e-30;

    final ShaderLines lines;
    List<String> tokens;
    int at;
    final Map<String, List<ShaderLines.Macro>> macros = new HashMap<String, List<ShaderLines.Macro>>();
    final Map<String, Called> functions = new HashMap<String, Called>();
    final List<Map<String, Variable>> scopes = new ArrayList<Map<String, Variable>>();
    final List<Branch> branches = new ArrayList<Branch>();
    Cost count = new Cost(0, 0);
    int operators;

    /** Whether the function that is read fetches texels, and the marks of what it returns. */
    boolean fetches;

    int returned;

    private Map<String, Argument> bound = new HashMap<String, Argument>();
    private int place = -1;
    private int used;
    private int deep;
    private int expanding;
    private boolean inCoordinate;

    /**
     * Whether it is an integer, the smallest and largest number that it may be as a constant (NaN: unknown), and marks:
     * WILD may be no number at all, as 0 / 0; PLAIN is made of uniforms.
     */
    static final class Value {
        final boolean whole;
        final double least;
        final double most;
        final int marks;

        Value(boolean whole, double least, double most, int marks) {
            this.whole = whole;
            this.least = least;
            this.most = most;
            this.marks = marks;
        }

        boolean isWild() {
            return (marks & WILD) != 0;
        }

        boolean isKnown() {
            return !Double.isNaN(least);
        }

        /** Returns what holds one value or the other: a constant, if one of them is. */
        Value hull(Value other) {
            int both = (marks | other.marks) & WILD | marks & other.marks;
            if (!isKnown() || !other.isKnown()) {
                Value one = other.isKnown() ? other : this;
                return new Value(one.whole, one.least, one.most, both);
            }
            return new Value(whole, Math.min(least, other.least), Math.max(most, other.most), both);
        }
    }

    /** Operations as a compiler sees them, functions in their places; and those of a fragment, loops with all turns. */
    static final class Cost {
        final long written;
        final long executed;

        Cost(long written, long executed) {
            this.written = written;
            this.executed = executed;
        }

        Cost max(Cost other) {
            return new Cost(Math.max(written, other.written), Math.max(executed, other.executed));
        }
    }

    /** What calls of a function cost; whether it fetches texels, and whether what it returns may be no number. */
    static final class Called {
        Cost cost = new Cost(0, 0);
        boolean fetches;
        int wild;
    }

    /** A name's; {@code value} is null before anything is assigned. */
    static final class Variable {
        final String kind;
        final int size;
        Value value;

        Variable(String kind, Value value, int size) {
            this.kind = kind;
            this.value = value;
            this.size = size;
        }
    }

    /** What a branch of a condition assigns first, and what the branch before it did. */
    static final class Branch {
        final int depth;
        final List<Variable> now = new ArrayList<Variable>();
        final List<Variable> before;

        Branch(int depth, List<Variable> before) {
            this.depth = depth;
            this.before = before;
        }
    }

    private static final class Argument {
        Value value;
        Cost cost;
    }

    ShaderExpressions(ShaderLines lines) {
        this.lines = lines;
        tokens = new ArrayList<String>(lines.tokens);
        tokens.add("");
        scopes.add(new LinkedHashMap<String, Variable>());
        scopes.get(0).put("gl_FragColor", new Variable("vec4", null, 0));
    }

    /** Parses a statement. */
    abstract void statement();

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

    Value expression() {
        Value value = binary(1);
        if (take("?")) {
            add(1, 1);
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

    /** Returns the value of an operation, if it is one that no compiler can choke on. */
    Value combine(String sign, Value left, Value right) {
        operators++;
        add(1, 1);
        if (operators > FormatConstants.GLSL_MOST_OPERATORS) {
            throw refused("a statement has more than " + FormatConstants.GLSL_MOST_OPERATORS + " operations");
        }
        if (level(sign) < 5) {
            return ANY;
        }
        double a = left.least;
        double b = left.most;
        double c = right.least;
        double d = right.most;
        boolean isPlain = (left.isKnown() || (left.marks & PLAIN) != 0)
                && (right.isKnown() || (right.marks & PLAIN) != 0);
        int wild = (left.marks | right.marks) & WILD;
        if (sign.equals("/") && !right.isKnown() && (right.marks & PLAIN) == 0) {
            wild = WILD;
        }
        if (sign.equals("/") && (left.whole || right.whole || c <= TINY && d >= -TINY)) {
            throw refused("a division by a constant that is 0 or may be, or of integers");
        }
        if (sign.equals("*") && (a == 0 && b == 0 || c == 0 && d == 0)) {
            return new Value(left.whole, 0, 0, wild);
        }
        if (!left.isKnown() || !right.isKnown()) {
            return new Value(
                    left.whole, Double.NaN, Double.NaN, wild | (isPlain && sign.equals("*") ? PLAIN : 0));
        }
        double[] ends;
        if (sign.equals("+")) {
            ends = new double[] {a + c, b + d};
        } else if (sign.equals("-")) {
            ends = new double[] {a - d, b - c};
        } else if (sign.equals("*")) {
            ends = new double[] {a * c, a * d, b * c, b * d};
        } else {
            ends = new double[] {a / c, a / d, b / c, b / d};
        }
        Arrays.sort(ends);
        return constant(new Value(left.whole, ends[0], ends[ends.length - 1], wild));
    }

    /** Returns a constant, if it is neither infinite nor too far from the texture in a coordinate. */
    private Value constant(Value value) {
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

    static String shown(String token) {
        return token.substring(0, Math.min(20, token.length()));
    }

    private void nested(int step) {
        deep += step;
        if (deep > FormatConstants.GLSL_MOST_BRACKETS) {
            throw refused("brackets are more than " + FormatConstants.GLSL_MOST_BRACKETS + " deep in each other");
        }
    }

    /** Parses the arguments of a function; {@code names} are all that a macro may stand for. */
    private Value call(List<String> names) {
        nested(1);
        expect("(");
        if (names.size() == 1 && names.get(0).equals("texture2D")) {
            return fetch();
        }
        int given = 0;
        boolean isConstant = true;
        int wild = 0;
        int tame = 0;
        double least = Double.POSITIVE_INFINITY;
        double most = Double.NEGATIVE_INFINITY;
        while (!take(")")) {
            if (given > 0) {
                expect(",");
            }
            Variable variable = find(tokens.get(at));
            Value value = ANY;
            if (variable != null && variable.kind.equals("sampler2D")) {
                next();
            } else {
                value = expression();
            }
            isConstant &= value.isKnown();
            wild += value.isWild() ? 1 : 0;
            tame += value.isWild() ? 0 : 1;
            least = Math.min(least, value.least);
            most = Math.max(most, value.most);
            if (++given > 16) {
                throw refused("a function has more than 16 arguments");
            }
        }
        nested(-1);
        isConstant &= given > 0;
        boolean isBounded = Arrays.asList("min", "max", "clamp").containsAll(names); // by any of them
        wild = wild > 0 && !(isBounded && tame > 0) ? WILD : 0;
        for (String name : names) {
            add(1, 1);
            boolean isCurve = CURVES.contains(name);
            if (functions.containsKey(name)) {
                Called called = functions.get(name);
                add(called.cost.written, called.cost.executed);
                forget();
                fetches |= called.fetches;
                boolean isGivenWild = wild != 0;
                for (Variable variable : scopes.get(0).values()) {
                    isGivenWild |= variable.value != null && variable.value.isWild();
                }
                if (called.fetches && isGivenWild) {
                    throw refused("'" + name + "' fetches, and is given what may be no number");
                }
                wild |= called.wild;
            } else if (KINDS.contains(name) || isCurve || FUNCTIONS.contains(name)) {
                if (isConstant == isCurve && (isConstant || name.equals("int"))) {
                    throw refused("'" + name + "' of constants, or 'int' of what is none");
                }
                wild |= WILD_FUNCTIONS.contains(name) ? WILD : 0;
            } else {
                throw refused("'" + shown(name) + "' is no function of this format");
            }
        }
        String first = names.get(0);
        if (!isConstant || functions.containsKey(first)) {
            return new Value(false, Double.NaN, Double.NaN, wild);
        }
        if (KINDS.contains(first)) {
            return new Value(first.equals("int"), least, most, wild);
        }
        if (isBounded) {
            return constant(new Value(false, least, most, wild));
        }
        double far = Math.max(1, Math.max(-least, most));
        return constant(new Value(false, -4 * far * far, 4 * far * far, wild)); // of any of the others
    }

    /** Forgets the values of global variables: a function of the shader may have changed each. */
    private void forget() {
        for (Map.Entry<String, Variable> entry : scopes.get(0).entrySet()) {
            Variable variable = entry.getValue();
            if (variable.kind.equals("global")) {
                if (variable.value == null) {
                    throw refused("'" + entry.getKey() + "' has no value yet, and a function is called");
                }
                variable.value = new Value(false, Double.NaN, Double.NaN, variable.value.marks & WILD);
            }
        }
    }

    /** Parses what texture2D is given, behind its bracket. */
    private Value fetch() {
        Variable variable = find(next());
        if (variable == null || !variable.kind.equals("sampler2D")) {
            throw refused("texture2D reads a sampler of the shader");
        }
        expect(",");
        boolean outer = inCoordinate;
        inCoordinate = true;
        Value value = expression();
        inCoordinate = outer;
        fetches = true;
        if (value.isKnown() || value.isWild()) {
            throw refused("a coordinate is constant, or may be no number");
        }
        expect(")");
        nested(-1);
        add(FormatConstants.GLSL_MOST_FETCH, FormatConstants.GLSL_MOST_FETCH);
        return ANY;
    }

    /** Parses every definition that a macro may have here, in its place; returns what it may be worth. */
    Value macro(String name, boolean isStatement) {
        List<ShaderLines.Macro> definitions = macros.get(name);
        List<String> params = definitions.get(0).params;
        boolean others = expanding > 1;
        for (ShaderLines.Macro definition : definitions) {
            others |= definition.params.size() != params.size();
        }
        if (others) {
            throw refused("macro '" + name + "' has other parameters elsewhere, or stands in a macro of a macro");
        }
        if (params.isEmpty() && tokens.get(at).equals("(")) { // another name of a function
            List<String> names = new ArrayList<String>();
            for (ShaderLines.Macro definition : definitions) {
                names.add(definition.body.size() == 1 ? definition.body.get(0) : name);
            }
            return call(names);
        }
        boolean alone = Arrays.asList("=", "(", ",", "<", "return").contains(peek(-2));
        Cost start = count;
        List<Argument> given = new ArrayList<Argument>();
        for (int k = 0; k < params.size(); k++) {
            expect(k > 0 ? "," : "(");
            Argument argument = new Argument();
            argument.value = expression();
            argument.cost = new Cost(count.written - start.written, count.executed - start.executed);
            given.add(argument);
            count = start; // where it is used it counts
        }
        if (!given.isEmpty()) {
            expect(")");
        }
        alone = alone && Arrays.asList(";", ")", ",").contains(tokens.get(at));
        List<String> outerTokens = tokens;
        int outerAt = at;
        Map<String, Argument> outerBound = bound;
        int outerPlace = place;
        nested(1);
        expanding++;
        Cost most = start;
        Value result = null;
        for (ShaderLines.Macro definition : definitions) {
            if (definition.loose && !alone && !isStatement) {
                throw refused("macro '" + name + "' is a sum without brackets around it");
            }
            place = outerPlace < 0 ? outerAt : outerPlace;
            tokens = new ArrayList<String>(definition.body);
            tokens.add("");
            at = 0;
            bound = new HashMap<String, Argument>();
            for (int k = 0; k < given.size(); k++) {
                bound.put(definition.params.get(k), given.get(k));
            }
            count = start;
            if (!isStatement) {
                Value value = expression();
                result = result == null ? value : result.hull(value);
                expect("");
            } else if (!definition.body.isEmpty()) {
                statement();
                expect("");
            }
            most = most.max(count);
            tokens = outerTokens;
            at = outerAt;
            bound = outerBound;
            place = outerPlace;
        }
        expanding--;
        nested(-1);
        count = most;
        return result == null ? ANY : result;
    }
}
