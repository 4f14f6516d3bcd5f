package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Checker of a bundle's GLSL, a subset that it understands completely, so that drivers compile only checked code.
 *
 * <p>Each value is followed as an interval, rounded outward by more than the error of 32-bit floats, through
 * assignments, both branches of conditions, loops (to a fixed point) and calls. Macros are expanded as by the
 * preprocessor.
 */
final class ShaderCheck {
    /** Kinds of uniforms by name. */
    final Map<String, String> uniforms = new TreeMap<String, String>();

    /** Numbers of each uniform; 0 of a sampler. */
    final Map<String, Integer> sizes = new HashMap<String, Integer>();

    /** Uniforms used as divisors, whose components must not be 0. */
    final Set<String> divisors = new HashSet<String>();

    /** Loops end after their counted turns only if {@code coord0.x} is at most 2. */
    boolean needsCoordinatesInside;

    private static final List<String> TYPES = Arrays.asList("int", "float", "vec2", "vec3", "vec4", "", "sampler2D");
    private static final int INT = 0;
    private static final int FLOAT = 1;
    private static final int BOOL = 5;
    private static final int SAMPLER = 6;

    /** Marks: it can be NaN; it is known to compilers; it is a sum of small numbers, of any length. */
    private static final int WILD = 1;

    private static final int CONST = 2;
    private static final int GROWN = 4;

    private static final double INFINITY = Double.POSITIVE_INFINITY;

    /** More than four roundings of 32-bit floats, because drivers can divide by multiplying, and reorder sums. */
    private static final double EPSILON = 1.0 / (1 << 22);

    private static final double TINY = 1e-30;
    private static final double SMALL = 1e24;

    /** A sum of 10**10 small numbers, more than shaders compute. */
    private static final double MOST_GROWN = 1e34;

    private static final int LARGEST_INT = 1 << 30;

    /** Products of factors beyond it can be infinite in another order. */
    private static final double FAR = 1e36;

    private static final List<String> DEVICE = Arrays.asList(FormatConstants.GLSL_DEVICE);
    private static final List<String> DEFINES = Arrays.asList(FormatConstants.GLSL_DEFINES);
    private static final List<String> STATEMENTS = Arrays.asList(FormatConstants.GLSL_STATEMENTS);
    private static final List<String> FUNCTIONS = Arrays.asList(FormatConstants.GLSL_FUNCTIONS);
    private static final List<String> TRANSCENDENTAL = Arrays.asList(FormatConstants.GLSL_TRANSCENDENTAL);
    private static final List<String> SLOW = Arrays.asList(FormatConstants.GLSL_SLOW);
    private static final List<String> SLOWEST = Arrays.asList(FormatConstants.GLSL_SLOWEST);
    private static final List<String> CAN_BE_NAN = Arrays.asList(FormatConstants.GLSL_CAN_BE_NAN);
    private static final List<String> WORDS = Arrays.asList("for", "if", "return", "void", "const", "break");
    private static final List<String> EXACT = exactFunctions();
    private static final List<String> BEFORE = Arrays.asList("=", "(", ",", "<", "return");
    private static final List<String> AFTER = Arrays.asList(";", ")", ",");
    private static final String[] LEVELS = {" || ", " && ", " == != ", " < > <= >= ", " + - ", " * / "};
    private static final Pattern TOKEN = Pattern.compile(FormatConstants.GLSL_TOKEN_PATTERN);
    private static final Pattern MACRO = Pattern.compile(FormatConstants.GLSL_MACRO_PATTERN);
    private static final Pattern NAME = Pattern.compile("(?!gl_|webgl_|_webgl_|\\w*__)[A-Za-z_]\\w*");
    private static final Pattern SWIZZLE = Pattern.compile("[xyzw]{1,4}|[rgba]{1,4}");
    private static final Pattern VARYING = Pattern.compile("coord[0-6]");
    private static final Pattern CONDITION = Pattern.compile("!?defined\\(\\w+\\)(?: && !?defined\\(\\w+\\))*");
    private static final Pattern TERM = Pattern.compile("(!?)defined\\((\\w+)\\)");
    private static final Pattern DEFINE = Pattern.compile("(\\w+)(?:\\((\\w+(?:, \\w+)*)\\))?(?: (.*))?");
    private static final Pattern FOREIGN = Pattern.compile("[^ -~]|\\\\|/\\*");

    // Lines of a shader: "#if", "#else" and "#endif" remain for conditions that depend on the device; "#0", "#1" ...
    // are definitions

    private final String member;
    private final List<String> code = new ArrayList<String>();
    private final List<Integer> lines = new ArrayList<Integer>();
    private final List<Macro> definitions = new ArrayList<Macro>();
    private final Map<String, State> defined = new HashMap<String, State>();

    /** Names of macros, which are not names of anything else. */
    private final Set<String> reserved = new HashSet<String>(DEVICE);

    private final List<State> decided = new ArrayList<State>();
    private int number;
    private int conditions;
    private String nextLine = ""; // that has to follow

    private List<String> tokens = code;
    private int at;
    private Map<String, List<Macro>> macros = new HashMap<String, List<Macro>>();
    private Map<String, List<Called>> functions = new HashMap<String, List<Called>>();
    private final Map<String, Result> results = new HashMap<String, Result>();
    private List<Map<String, Variable>> scopes = new ArrayList<Map<String, Variable>>();
    private List<Branch> branches = new ArrayList<Branch>();
    private long written;
    private long executed;
    private int used;
    private int operators;
    private int blocks;
    private int brackets;
    private int calls;
    private int expanding;

    /** Position of the first macro around the current tokens, or -1; and whether it has adjacent tokens. */
    private int place = -1;

    private boolean alone = true;
    private boolean inCoordinate;
    private String returns = "void";
    private Value returned;
    private int conditional;

    /** Choices around the current token, of which a fragment executes one side. */
    private int chosen;

    /** Global variables read by the current statement, and whether it calls functions, which change these. */
    private Set<String> globalsRead = new LinkedHashSet<String>();

    private boolean isCalling;

    /** Whether the function so far reads or writes a global variable. */
    private boolean usesGlobals;

    private Set<String> changed = new LinkedHashSet<String>();

    private int turning;
    private List<List<Map<String, Variable>>> breaks = new ArrayList<List<Map<String, Variable>>>();

    /** State of a macro, or of the branch of a condition. */
    private enum State {
        YES,
        NO,
        PERHAPS;

        State not() {
            return this == PERHAPS ? this : this == YES ? NO : YES;
        }
    }

    /** A macro definition; without a body it is the end of one. */
    private static final class Macro {
        String name;
        List<String> params = Collections.emptyList();
        List<String> body;
        boolean certain;
    }

    /**
     * A value: its type, smallest and largest possible component, marks, its uniform or "", and the largest product of
     * factors within it in any order, because drivers multiply constants first, and the inverse of the smallest.
     */
    private static final class Value {
        final int type;
        final double least;
        final double most;
        final int marks;
        final String uniform;
        final double reach;

        Value(int type, double least, double most, int marks) {
            this(type, least, most, marks, "", 1);
        }

        Value(int type, double least, double most, int marks, String uniform, double reach) {
            this.type = type;
            this.least = least + 0.0; // avoids negative zero, because values are compared
            this.most = most + 0.0;
            this.marks = marks;
            this.uniform = uniform;
            this.reach = reach;
        }

        static Value unknown(int type, int marks) {
            return new Value(type, -INFINITY, INFINITY, marks | WILD);
        }

        boolean has(int mark) {
            return (marks & mark) != 0;
        }

        boolean isSmall() {
            return least >= -SMALL && most <= SMALL;
        }

        boolean canBeZero() {
            return least <= TINY && most >= -TINY;
        }

        double reach() {
            double small = least > 0 ? 1 / least : most < 0 ? -1 / most : 0;
            return Math.max(Math.max(reach, small), Math.max(-least, most));
        }

        boolean isInfinite() {
            return least == -INFINITY || most == INFINITY;
        }

        Value as(int other) {
            return new Value(other, least, most, marks, "", reach);
        }

        Value negative() {
            return new Value(type, -most, -least, marks, "", reach);
        }

        boolean equal(Value other) {
            return type == other.type
                    && least == other.least
                    && most == other.most
                    && marks == other.marks
                    && reach == other.reach
                    && uniform.equals(other.uniform);
        }

        /** Returns the union of two values. */
        Value hull(Value other) {
            double low = Math.min(least, other.least);
            double high = Math.max(most, other.most);
            boolean grows = ((marks | other.marks) & GROWN) != 0
                    && isWithin(low, high)
                    && (has(GROWN) || isSmall())
                    && (other.has(GROWN) || other.isSmall());
            int all = joined(marks, other.marks) | (grows ? GROWN : 0);
            return new Value(type, low, high, all, "", Math.max(reach, other.reach));
        }

        /** Returns the union of two values, including sums that grow from one to the other. */
        Value widened(Value other) {
            Value both = hull(other);
            double far = both.reach <= reach ? both.reach : INFINITY;
            if (both.least >= least && both.most <= most) {
                return new Value(type, both.least, both.most, both.marks, "", far);
            }
            if (both.isSmall() || both.has(GROWN)) {
                return new Value(type, -MOST_GROWN, MOST_GROWN, both.marks & ~CONST | GROWN, "", far);
            }
            return new Value(type, -INFINITY, INFINITY, both.marks & ~GROWN, "", far);
        }

        @Override
        public String toString() {
            return type + "," + least + "," + most + "," + marks + "," + reach;
        }
    }

    /** A variable; {@code value} is null before an assignment, {@code size} is the elements of an array or 0. */
    private static final class Variable {
        final String kind;
        final int type;
        final Value value;
        final int size;

        Variable(String kind, int type, Value value, int size) {
            this.kind = kind;
            this.type = type;
            this.value = value;
            this.size = size;
        }

        boolean isState() {
            return kind.equals("global") || kind.equals("output");
        }
    }

    /** A function: the start of its body, and the macros and functions defined before it. */
    private static final class Called {
        String kind;
        int at;
        final List<String> names = new ArrayList<String>();
        final List<Integer> types = new ArrayList<Integer>();
        Map<String, List<Macro>> macros;
        Map<String, List<Called>> functions;
    }

    /** Result of a call. */
    private static final class Result {
        Value value;
        Map<String, Variable> globals;
        long written;
        long executed;
        boolean usesGlobals;
    }

    /**
     * A condition that depends on the device: its start, and the states before it and at the end of its first branch.
     */
    private static final class Branch {
        int blocks;
        List<Map<String, Variable>> before;
        Value returned;
        List<Map<String, Variable>> first;
        Value firstReturned;
    }

    /** A function of an alternative. */
    private interface Way<T> {
        Value in(T way);
    }

    /**
     * Checks a fragment shader, without the prelude.
     *
     * @throws Errors.BundleError it is not in the format's GLSL subset; with the member and the line
     */
    ShaderCheck(String member, String text) {
        this.member = member;
        read(text);
        scopes.add(new LinkedHashMap<String, Variable>());
        scopes.get(0).put("gl_FragColor", new Variable("output", 4, null, 0));
        boolean isOver = false; // after main
        while (!take("")) {
            if (directive()) {
                continue;
            }
            String word = next();
            if (isOver) {
                throw refused("code after main");
            }
            if (word.equals("varying") || word.equals("uniform")) {
                connection(word);
            } else if (word.equals("const")) {
                declaration(next(), true);
            } else if (peek(1).equals("(")) {
                isOver = function(word);
            } else {
                declaration(word, false);
            }
        }
        if (!isOver) {
            throw refused("the shader has no main");
        }
    }

    /** Returns the number of tokens, with those that were read again. */
    long tokensRead() {
        return (long) code.size() + used;
    }

    /** Returns the number of operations as compilers see them. */
    long written() {
        return written;
    }

    private BundleError refused(String problem) {
        int where = Math.min(place < 0 ? at : place, lines.size() - 1);
        return refusedLine(where < 0 ? 1 : lines.get(where), problem);
    }

    private BundleError refusedLine(int line, String problem) {
        return new BundleError("shader '" + member + "' line " + line + ": " + problem + "; export the model again");
    }

    // Lines

    private void read(String text) {
        for (String name : DEVICE) {
            defined.put(name, State.PERHAPS);
        }
        String[] all = text.split("\n", -1);
        if (!text.endsWith("\n")) {
            throw refusedLine(all.length, "it does not end with a line feed");
        }
        for (number = 1; number < all.length; number++) {
            String line = all[number - 1];
            if (FOREIGN.matcher(line).find()) {
                throw refusedLine(number, "a character that is not allowed, or /*");
            }
            int end = line.contains("//") ? line.indexOf("//") : line.length();
            while (end > 0 && line.charAt(end - 1) == ' ') {
                end--;
            }
            line = line.substring(0, end);
            if (!nextLine.isEmpty() && !line.equals(nextLine)) {
                throw refusedLine(number, "'" + nextLine + "' is expected");
            }
            if (line.startsWith("#")) {
                directive(line.substring(1));
            } else if (!line.isEmpty() && !decided.contains(State.NO)) {
                for (String token : tokensOf(line)) {
                    add(token);
                }
                if (code.size() > FormatConstants.GLSL_MOST_TOKENS) {
                    String most = "the shader has more than " + FormatConstants.GLSL_MOST_TOKENS + " tokens";
                    throw refusedLine(number, most);
                }
            }
        }
        if (!decided.isEmpty()) {
            throw refusedLine(number - 1, "a condition without #endif");
        }
        code.add("");
    }

    private void add(String token) {
        code.add(token);
        lines.add(number);
    }

    private List<String> tokensOf(String line) {
        List<String> result = new ArrayList<String>();
        Matcher token = TOKEN.matcher(line);
        for (int from = 0; from < line.length(); from = token.end()) {
            token.region(from, line.length());
            if (!token.lookingAt() || token.end() - from > FormatConstants.GLSL_MOST_NAME) {
                String start = line.substring(from, Math.min(from + 12, line.length()));
                throw refusedLine(number, "'" + start + "' is no GLSL of this format");
            }
            if (line.charAt(from) != ' ') {
                result.add(token.group());
            }
        }
        return result;
    }

    private void directive(String line) {
        int space = line.indexOf(' ');
        String word = space < 0 ? line : line.substring(0, space);
        String argument = space < 0 ? "" : line.substring(space + 1);
        boolean live = !decided.contains(State.NO);
        State state;
        if (word.equals("ifdef") || word.equals("ifndef") || word.equals("if")) {
            String defined = (word.equals("ifdef") ? "" : "!") + "defined(" + argument + ")";
            state = conditionOf(word.equals("if") ? argument : defined);
            decided.add(state);
        } else if ((word.equals("else") || word.equals("endif")) && argument.isEmpty()) {
            if (decided.isEmpty()) {
                throw refusedLine(number, "#" + word + " without a condition");
            }
            state = decided.remove(decided.size() - 1);
            live = !decided.contains(State.NO);
            if (word.equals("else")) {
                decided.add(state.not());
            }
        } else {
            if (!word.equals("define") && !word.equals("undef")) {
                String start = word.substring(0, Math.min(12, word.length()));
                throw refusedLine(number, "#" + start + " is not used in this format");
            }
            if (live) {
                define(word.equals("define"), argument);
            }
            return;
        }
        if (live && state == State.PERHAPS) {
            conditions += word.startsWith("i") ? 1 : 0;
            if (conditions > FormatConstants.GLSL_MOST_NAMES) {
                throw refusedLine(
                        number,
                        "the shader has more than " + FormatConstants.GLSL_MOST_NAMES + " conditions of devices");
            }
            add(word.startsWith("i") ? "#if" : "#" + word);
        }
    }

    private State conditionOf(String text) {
        boolean right = CONDITION.matcher(text).matches() && decided.size() < FormatConstants.GLSL_MOST_CONDITIONS;
        State all = State.YES;
        for (Matcher term = TERM.matcher(text); term.find(); ) {
            right = right && MACRO.matcher(term.group(2)).matches();
            State state = defined.containsKey(term.group(2)) ? defined.get(term.group(2)) : State.NO;
            state = term.group(1).isEmpty() ? state : state.not();
            all = all == State.NO || state == State.YES ? all : state;
        }
        if (!right) {
            throw refusedLine(number, "a condition of another form, or too deep");
        }
        return all;
    }

    private void define(boolean begins, String argument) {
        Matcher definition = DEFINE.matcher(argument);
        boolean right = definition.matches();
        String name = right ? definition.group(1) : "";
        int line = begins ? DEFINES.indexOf(argument) : -1;
        boolean plain = MACRO.matcher(name).matches() && !STATEMENTS.contains(name);
        boolean exempt = line >= 0 && (!nextLine.isEmpty() || !name.equals(STATEMENTS.get(1)));
        if (!plain && !exempt) {
            throw refusedLine(number, "a macro that is not of this format");
        }
        nextLine = name.equals(STATEMENTS.get(0)) ? "#define " + DEFINES.get(line + 1) : "";
        Macro macro = new Macro();
        macro.certain = !decided.contains(State.PERHAPS);
        macro.name = name;
        defined.put(macro.name, !macro.certain ? State.PERHAPS : begins ? State.YES : State.NO);
        reserved.add(macro.name);
        if (definitions.size() >= FormatConstants.GLSL_MOST_NAMES) {
            throw refusedLine(
                    number, "the shader has more than " + FormatConstants.GLSL_MOST_NAMES + " definitions of macros");
        }
        add("#" + definitions.size());
        definitions.add(macro);
        if (!begins) {
            return;
        }
        if (definition.group(2) != null) {
            macro.params = Arrays.asList(definition.group(2).split(", "));
        }
        macro.body = tokensOf(definition.group(3) == null ? "" : definition.group(3));
        if (macro.body.size() > FormatConstants.GLSL_MOST_MACRO || macro.params.size() > 4) {
            throw refusedLine(number, "macro '" + macro.name + "' is longer than any of this format");
        }
    }

    // Tokens

    private String peek(int ahead) {
        return at + ahead >= 0 && at + ahead < tokens.size() ? tokens.get(at + ahead) : "";
    }

    private String next() {
        String token = tokens.get(at);
        at += token.isEmpty() ? 0 : 1;
        return token;
    }

    private boolean take(String token) {
        boolean matches = tokens.get(at).equals(token);
        at += matches && !token.isEmpty() ? 1 : 0;
        return matches;
    }

    private void expect(String... wanted) {
        for (String token : wanted) {
            if (!take(token)) {
                throw refused("'" + token + "' is expected, not '" + tokens.get(at) + "'");
            }
        }
    }

    private String name() {
        String token = next();
        boolean word = TYPES.contains(token) || WORDS.contains(token) || reserved.contains(token);
        if (word || !NAME.matcher(token).matches()) {
            throw refused("a name is expected, not '" + token + "'");
        }
        return token;
    }

    private void cost(long more, long turns) {
        written += more;
        executed += turns;
        if (written > FormatConstants.GLSL_MOST_WRITTEN || executed > FormatConstants.GLSL_MOST_EXECUTED) {
            throw refused("too many operations");
        }
    }

    /** Counts tokens that are read again: of a macro, a function or a loop. */
    private void again(int more) {
        used += more;
        if (used > FormatConstants.GLSL_MOST_EXPANDED) {
            throw refused(
                    "the shader has more than " + FormatConstants.GLSL_MOST_EXPANDED + " tokens with its macros");
        }
    }

    private void nested(int step) {
        brackets += step;
        if (brackets > FormatConstants.GLSL_MOST_BRACKETS) {
            throw refused("brackets are more than " + FormatConstants.GLSL_MOST_BRACKETS + " deep in each other");
        }
    }

    /** Returns the functions that replace functions of GLSL on some devices. */
    private static List<String> exactFunctions() {
        List<String> names = new ArrayList<String>();
        for (String line : DEFINES) {
            if (line.indexOf('(') < 0) {
                names.add(line.substring(line.indexOf(' ') + 1));
            }
        }
        return names;
    }

    private static String start(String token) {
        return token.substring(0, Math.min(20, token.length()));
    }

    // Variables

    private void declare(String name, String kind, int type, Value value, int size) {
        cost(1, 1);
        scopes.get(scopes.size() - 1).put(name, new Variable(kind, type, value, size));
        int all = 0;
        for (Map<String, Variable> scope : scopes) {
            all += scope.size();
        }
        if (all > FormatConstants.GLSL_MOST_NAMES) {
            throw refused("more than " + FormatConstants.GLSL_MOST_NAMES + " variables at once");
        }
    }

    private Map<String, Variable> scopeOf(String name) {
        for (int k = scopes.size() - 1; k >= 0; k--) {
            if (scopes.get(k).containsKey(name)) {
                return scopes.get(k);
            }
        }
        return null;
    }

    private Variable find(String name) {
        Map<String, Variable> scope = scopeOf(name);
        return scope == null ? null : scope.get(name);
    }

    private boolean isSampler(String name) {
        Variable variable = find(name);
        return variable != null && variable.type == SAMPLER;
    }

    private static List<Map<String, Variable>> saved(List<Map<String, Variable>> state) {
        List<Map<String, Variable>> copy = new ArrayList<Map<String, Variable>>();
        for (Map<String, Variable> scope : state) {
            copy.add(new LinkedHashMap<String, Variable>(scope));
        }
        return copy;
    }

    /** Extends each variable by its values in another state; returns whether one changed. */
    private boolean join(List<Map<String, Variable>> other, boolean widening) {
        boolean changed = false;
        for (int k = 0; k < Math.min(scopes.size(), other.size()); k++) {
            for (Map.Entry<String, Variable> entry : other.get(k).entrySet()) {
                Variable there = entry.getValue();
                Variable mine = scopes.get(k).get(entry.getKey());
                if (mine == null) {
                    scopes.get(k).put(entry.getKey(), there);
                } else if (mine != there) {
                    if (!mine.kind.equals(there.kind) || mine.type != there.type) {
                        throw refused("'" + entry.getKey() + "' is declared in two ways");
                    }
                    Value value = null;
                    if (mine.value != null && there.value != null) {
                        value = widening ? mine.value.widened(there.value) : mine.value.hull(there.value);
                    }
                    int size = Math.min(mine.size, there.size);
                    changed |= mine.value != null && (value == null || !value.equal(mine.value)) || size != mine.size;
                    scopes.get(k).put(entry.getKey(), new Variable(mine.kind, mine.type, value, size));
                }
            }
        }
        return changed;
    }

    /**
     * Calls a function for several alternatives from the same state; the state after it is the union of their states.
     */
    private <T> Value each(List<T> ways, Way<T> work) {
        if (ways.size() == 1) {
            return work.in(ways.get(0));
        }
        List<Map<String, Variable>> before = saved(scopes);
        List<Map<String, Variable>> after = null;
        long startWritten = written;
        long startExecuted = executed;
        long mostWritten = 0;
        long mostExecuted = 0;
        Value result = null;
        for (T way : ways) {
            scopes = saved(before);
            written = startWritten;
            executed = startExecuted;
            Value value = work.in(way);
            if (result == null) {
                result = value;
            } else if (value != null) {
                result = result.hull(typed(result.type, value));
            }
            mostWritten = Math.max(mostWritten, written);
            mostExecuted = Math.max(mostExecuted, executed);
            if (after != null) {
                join(after, false);
            }
            after = scopes;
        }
        written = mostWritten;
        executed = mostExecuted;
        return result;
    }

    // Declarations and functions

    private void connection(String word) {
        String kind = next();
        String name = name();
        int size = 0;
        if (word.equals("uniform") && kind.equals("vec4") && take("[")) {
            Value bound = expression();
            expect("]");
            boolean isConstant = bound.type == INT && bound.least == bound.most;
            if (!isConstant || bound.least < 1 || bound.most > FormatConstants.GLSL_MOST_ARRAY) {
                throw refused("an array has a size of 1 to " + FormatConstants.GLSL_MOST_ARRAY);
            }
            size = (int) bound.least;
        }
        int type = typeOf(kind);
        if (type < FLOAT || word.equals("varying") && !VARYING.matcher(name).matches()) {
            throw refused("the " + word + " '" + name + "' is not of this format");
        }
        expect(";");
        boolean isUniform = word.equals("uniform");
        double far = isUniform ? FormatConstants.GLSL_MOST_UNIFORM : FormatConstants.GLSL_MOST_VARYING;
        Value value = new Value(type, -far, far, 0, isUniform ? name : "", 1);
        declare(name, type == SAMPLER ? kind : word, type, value, size);
        if (isUniform) {
            uniforms.put(name, kind);
            sizes.put(name, type == SAMPLER ? 0 : type * Math.max(size, 1));
        }
    }

    /** Returns the type with this name, or -1. */
    private static int typeOf(String kind) {
        return kind.isEmpty() ? -1 : TYPES.indexOf(kind);
    }

    private static boolean isNumber(String kind) {
        return typeOf(kind) >= FLOAT && typeOf(kind) <= 4;
    }

    /** Reads a function after its type, with unknown arguments; returns whether it is main. */
    private boolean function(String kind) {
        String name = name();
        Called function = new Called();
        expect("(");
        while (!take(")")) {
            String paramType = next();
            if (typeOf(paramType) < FLOAT) {
                throw refused("a parameter of '" + name + "' has the type '" + paramType + "'");
            }
            function.names.add(name());
            function.types.add(typeOf(paramType));
            if (!peek(0).equals(")")) {
                expect(",");
            }
        }
        boolean main = name.equals("main") && kind.equals("void");
        boolean elsewhere = !branches.isEmpty() && !EXACT.contains(name); // a function of the driver on other devices
        boolean isBuiltIn = FUNCTIONS.contains(name) || TRANSCENDENTAL.contains(name) || name.equals("texture2D");
        boolean isReserved = elsewhere || isBuiltIn;
        boolean right = kind.equals("void") || isNumber(kind);
        if (isReserved || !right || name.equals("main") != main) {
            throw refused("the function '" + name + "' is not of this format");
        }
        function.kind = kind;
        function.at = at;
        function.macros = new HashMap<String, List<Macro>>(macros);
        function.functions = functions;
        Map<String, Variable> outer = scopes.get(0);
        if (!main) {
            Map<String, Variable> any = new LinkedHashMap<String, Variable>(outer);
            for (Map.Entry<String, Variable> entry : any.entrySet()) {
                Variable variable = entry.getValue();
                if (variable.isState()) {
                    entry.setValue(new Variable(variable.kind, variable.type, new Value(variable.type, -1, 1, 0), 0));
                }
            }
            scopes.set(0, any);
        }
        written = 0;
        executed = 0;
        List<Value> arguments = new ArrayList<Value>();
        for (int type : function.types) {
            arguments.add(new Value(type, -1, 1, 0));
        }
        body(function, arguments);
        if (!main) {
            scopes.set(0, outer);
        } else if (find("gl_FragColor").value == null) {
            throw refused("gl_FragColor has no value");
        }
        String signature = name + "(" + function.types;
        List<Called> all = new ArrayList<Called>();
        if (functions.containsKey(signature)) {
            all.addAll(functions.get(signature));
        }
        all.add(function);
        functions = new HashMap<String, List<Called>>(functions);
        functions.put(signature, all);
        if (functions.size() > FormatConstants.GLSL_MOST_NAMES) {
            throw refused("more than " + FormatConstants.GLSL_MOST_NAMES + " functions");
        }
        return main;
    }

    /** Reads the body of a function; returns the value of a call. */
    private Value body(Called called, List<Value> arguments) {
        returns = called.kind;
        returned = null;
        scopes = new ArrayList<Map<String, Variable>>(scopes.subList(0, 1));
        scopes.add(new LinkedHashMap<String, Variable>());
        for (int k = 0; k < arguments.size(); k++) {
            int type = called.types.get(k);
            declare(called.names.get(k), type == SAMPLER ? "sampler2D" : "parameter", type, arguments.get(k), 0);
        }
        block();
        scopes.remove(1);
        Value value = returned;
        returned = null;
        if (!called.kind.equals("void") && value == null) {
            at--;
            throw refused("a function ends without 'return'");
        }
        return value;
    }

    /** Returns the value of a call of a shader's function, including its changes of global variables. */
    private Value call(String signature, final List<Value> arguments) {
        String function = signature.substring(0, signature.indexOf('('));
        if (chosen > 0) {
            throw refused("'" + function + "' is called in one side of a choice, or in the bound of a loop");
        }
        Map<String, Variable> outer = scopes.get(0);
        Set<String> reads = globalsRead;
        boolean others = isCalling;
        Set<String> before = changed;
        boolean callerUses = usesGlobals;
        final boolean[] uses = {false};
        if (++calls > FormatConstants.GLSL_MOST_CALLS) {
            throw refused("calls are too deep in each other");
        }
        cost(1, 1);
        final List<Map<String, Variable>> locals =
                new ArrayList<Map<String, Variable>>(scopes.subList(1, scopes.size()));
        Value value = each(functions.get(signature), new Way<Called>() {
            @Override
            public Value in(Called called) {
                Map<String, Variable> globals = scopes.get(0);
                StringBuilder key = new StringBuilder().append(called.at).append(arguments);
                for (Map.Entry<String, Variable> entry : globals.entrySet()) {
                    key.append(entry.getValue().isState() ? entry.getKey() + entry.getValue().value + ";" : "");
                }
                Result result = results.get(key.toString());
                if (result == null) {
                    result = run(called, arguments, globals);
                    results.put(key.toString(), result);
                }
                scopes = new ArrayList<Map<String, Variable>>();
                scopes.add(new LinkedHashMap<String, Variable>(result.globals));
                scopes.addAll(locals);
                cost(result.written, result.executed);
                uses[0] |= result.usesGlobals;
                return result.value;
            }
        });
        calls--;
        globalsRead = reads;
        isCalling = others || uses[0];
        usesGlobals = callerUses || uses[0];
        changed = before;
        for (Map.Entry<String, Variable> entry : outer.entrySet()) {
            Value now = scopes.get(0).get(entry.getKey()).value;
            Value then = entry.getValue().value;
            if (before.isEmpty() && now != then && (now == null || then == null || !now.equal(then))) {
                if (changed == before) {
                    changed = new LinkedHashSet<String>();
                }
                changed.add(entry.getKey());
            }
        }
        if (others && uses[0] && !changed.isEmpty()) {
            throw refused("'" + function + "' is not the only call of a statement that changes global variables");
        }
        for (String name : reads) {
            unchanged(name);
        }
        return value == null ? new Value(BOOL, 0, 0, 0) : value;
    }

    /** Refuses a variable that a call of the statement changes: drivers can read it before or after the call. */
    private void unchanged(String name) {
        if (changed.contains(name)) {
            throw refused("'" + name + "' is read in a statement with a call that changes it");
        }
    }

    private Result run(Called called, List<Value> arguments, Map<String, Variable> globals) {
        List<String> outerTokens = tokens;
        int outerAt = at;
        Map<String, List<Macro>> outerMacros = macros;
        Map<String, List<Called>> outerFunctions = functions;
        int outerPlace = place;
        boolean outerAlone = alone;
        boolean outerCoordinate = inCoordinate;
        String outerReturns = returns;
        Value outerReturned = returned;
        int outerConditional = conditional;
        int outerTurning = turning;
        List<List<Map<String, Variable>>> outerBreaks = breaks;
        List<Branch> outerBranches = branches;
        int outerOperators = operators;
        long outerWritten = written;
        long outerExecuted = executed;
        tokens = code;
        at = called.at;
        macros = called.macros;
        functions = called.functions;
        place = -1;
        alone = true;
        inCoordinate = false;
        conditional = 0;
        turning = 0;
        breaks = new ArrayList<List<Map<String, Variable>>>();
        branches = new ArrayList<Branch>();
        written = 0;
        executed = 0;
        scopes = new ArrayList<Map<String, Variable>>();
        scopes.add(new LinkedHashMap<String, Variable>(globals));
        usesGlobals = false;
        Result result = new Result();
        result.value = body(called, arguments);
        again(at - called.at);
        result.globals = scopes.get(0);
        result.written = written;
        result.executed = executed;
        result.usesGlobals = usesGlobals;
        tokens = outerTokens;
        at = outerAt;
        macros = outerMacros;
        functions = outerFunctions;
        place = outerPlace;
        alone = outerAlone;
        inCoordinate = outerCoordinate;
        returns = outerReturns;
        returned = outerReturned;
        conditional = outerConditional;
        turning = outerTurning;
        breaks = outerBreaks;
        branches = outerBranches;
        operators = outerOperators;
        written = outerWritten;
        executed = outerExecuted;
        return result;
    }

    // Statements

    /** Reads a condition or a definition, if it is next; returns whether it was. */
    private boolean directive() {
        String token = tokens.get(at);
        if (!token.startsWith("#")) {
            return false;
        }
        at++;
        if (token.equals("#if")) {
            Branch branch = new Branch();
            branch.blocks = blocks;
            branch.before = saved(scopes);
            branch.returned = returned;
            branches.add(branch);
        } else if (token.equals("#else") || token.equals("#endif")) {
            Branch branch = branches.isEmpty() ? null : branches.remove(branches.size() - 1);
            if (branch == null || branch.blocks != blocks) {
                throw refused("a condition ends in another block");
            }
            if (token.equals("#else")) {
                branch.first = scopes;
                branch.firstReturned = returned;
                branches.add(branch);
                scopes = branch.before;
                returned = branch.returned;
            } else {
                Value other = branch.first == null ? branch.returned : branch.firstReturned;
                List<Map<String, Variable>> there = branch.first == null ? branch.before : branch.first;
                for (int depth = 1; depth < scopes.size(); depth++) {
                    compare(scopes.get(depth), there.get(depth), depth);
                    compare(there.get(depth), scopes.get(depth), depth);
                }
                join(there, false);
                if ((returned == null) != (other == null)) {
                    throw refused("'return' on one side of a condition");
                }
                returned = returned == null ? null : returned.hull(other);
            }
        } else if (blocks > 0) {
            throw refused("a macro is defined in a function");
        } else {
            Macro macro = definitions.get(Integer.parseInt(token.substring(1)));
            if (macro.body != null) {
                macro(macro);
            } else if (macro.certain) {
                macros.remove(macro.name);
            }
        }
        return true;
    }

    /** Refuses a variable of one side of a condition that hides another variable. */
    private void compare(Map<String, Variable> first, Map<String, Variable> other, int depth) {
        for (String name : first.keySet()) {
            for (int k = 0; k < depth && !other.containsKey(name); k++) {
                if (scopes.get(k).containsKey(name)) {
                    throw refused("'" + name + "' is another variable on one side of a condition");
                }
            }
        }
    }

    private void macro(Macro macro) {
        List<Macro> all = new ArrayList<Macro>();
        if (!macro.certain && macros.containsKey(macro.name)) {
            all.addAll(macros.get(macro.name));
        } else if (!macro.certain && !MACRO.matcher(macro.name).matches()) {
            Macro same = new Macro(); // a function of GLSL on other devices
            same.name = macro.name;
            same.body = Collections.singletonList(macro.name);
            all.add(same);
        }
        all.add(macro);
        macros.put(macro.name, all);
    }

    private boolean isFunction(String name) {
        for (String signature : functions.keySet()) {
            if (signature.startsWith(name + "(")) {
                return true;
            }
        }
        return false;
    }

    private void block() {
        expect("{");
        if (++blocks > FormatConstants.GLSL_MOST_BLOCKS + calls) {
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
            throw refused("a condition ends in another block");
        }
        scopes.remove(scopes.size() - 1);
        blocks--;
    }

    private void begin() {
        operators = 0;
        globalsRead = new LinkedHashSet<String>();
        isCalling = false;
        changed = new LinkedHashSet<String>();
    }

    private void statement() {
        begin();
        String token = tokens.get(at);
        boolean isCall = peek(1).equals("(");
        if (returned != null) {
            throw refused("a statement after 'return'");
        }
        if (typeOf(token) >= 0 && !isCall) {
            declaration(next(), false);
        } else if (take("const")) {
            declaration(next(), true);
        } else if (token.equals("for")) {
            loop();
        } else if (take("if")) {
            condition();
        } else if (token.equals("break")) {
            if (conditional == 0 || turning == 0) {
                throw refused("'break' belongs to an 'if' in a loop");
            }
            expect(token, ";");
            breaks.add(saved(scopes));
        } else if (token.equals("return")) {
            if (returns.equals("void") || conditional > 0 || turning > 0) {
                throw refused("'return' ends a function with a result");
            }
            at++;
            Value value = typed(typeOf(returns), expression());
            expect(";");
            returned = value;
        } else if (STATEMENTS.contains(token) && macros.containsKey(token)) {
            macro(next(), true);
        } else if (isCall) {
            if (!isFunction(token)) {
                throw refused("'" + token + "' is no function of the shader");
            }
            expression();
            expect(";");
        } else {
            assignment();
        }
    }

    private void condition() {
        cost(FormatConstants.GLSL_MOST_CHOICE, 1);
        expect("(");
        typed(BOOL, expression());
        expect(")");
        String token = peek(0);
        boolean depends = Arrays.asList("if", "for", "{", "const", "return").contains(token);
        if (depends || STATEMENTS.contains(token) || typeOf(token) >= 0) {
            throw refused("another statement after 'if'");
        }
        List<Map<String, Variable>> before = saved(scopes);
        conditional++;
        statement();
        conditional--;
        join(before, false);
    }

    private void declaration(String kind, boolean isConstant) {
        if (!isNumber(kind)) {
            throw refused("'" + start(kind) + "' is not of this format");
        }
        boolean isLocal = scopes.size() > 1;
        int type = typeOf(kind);
        while (true) {
            begin();
            String name = name();
            Value value = (isLocal || isConstant) && take("=") ? typed(type, expression()) : null;
            if (isConstant && (value == null || !value.has(CONST))) {
                throw refused("'" + name + "' is no constant");
            }
            declare(name, isConstant ? "const" : isLocal ? "local" : "global", type, value, 0);
            if (take(";")) {
                return;
            }
            expect(",");
        }
    }

    private Value typed(int type, Value value) {
        if (value.type != type) {
            throw refused("a value of another type");
        }
        return value;
    }

    private void assignment() {
        String name = tokens.get(at).equals("gl_FragColor") ? next() : name();
        Variable variable = find(name);
        if (variable == null || !variable.isState() && !Arrays.asList("local", "parameter").contains(variable.kind)) {
            throw refused("'" + name + "' cannot be assigned to");
        }
        int part = take(".") ? component() : 0;
        String sign = next();
        if (!Arrays.asList("=", "+=", "-=", "*=", "/=").contains(sign)) {
            throw refused("an assignment is expected, not '" + sign + "'");
        }
        if (variable.value == null && (part > 0 || !sign.equals("="))) {
            throw refused("'" + name + "' is used before it has a value");
        }
        if (variable.isState()) {
            usesGlobals = true;
            if (!sign.equals("=")) {
                globalsRead.add(name);
            }
        }
        Value value = expression();
        int type = part > 0 ? part : variable.type;
        Map<String, Variable> scope = scopeOf(name);
        Value before = scope.get(name).value; // a call in the expression can have changed it
        if (before != null && !sign.equals("=")) {
            value = combine(sign.substring(0, 1), before.as(type), value);
        }
        typed(type, value);
        expect(";");
        if (part > 0 && before != null) {
            value = before.hull(value);
        }
        scope.put(name, new Variable(variable.kind, variable.type, value.as(variable.type), 0));
    }

    /** Reads a loop with a constant number of turns, until the intervals of its variables are valid for all turns. */
    private void loop() {
        expect("for", "(", "int");
        String turn = name();
        expect("=", "0", ";", turn, "<");
        int bound = at;
        long before = executed;
        chosen++;
        Value turns = expression();
        chosen--;
        long compared = executed - before;
        expect(";");
        if (!(take("++") && take(turn))) {
            expect(turn, "++");
        }
        expect(")");
        boolean isConstant = turns.type == INT && turns.has(CONST);
        if (!isConstant || turns.least < 0 || turns.most > FormatConstants.GLSL_MOST_ITERATIONS) {
            throw refused("a loop has a constant bound of at most " + FormatConstants.GLSL_MOST_ITERATIONS);
        }
        double most = counted(turns.most, bound, turn);
        cost(1, 1);
        Variable counter = new Variable("turn", INT, new Value(INT, 0, Math.max(turns.most - 1, 0), 0), 0);
        int begin = at;
        long startWritten = written;
        long startExecuted = executed;
        List<List<Map<String, Variable>>> outer = breaks;
        turning++;
        for (int passes = 0; ; passes++) {
            List<Map<String, Variable>> head = saved(scopes);
            breaks = new ArrayList<List<Map<String, Variable>>>();
            scopes.add(new LinkedHashMap<String, Variable>());
            scopes.get(scopes.size() - 1).put(turn, counter);
            block();
            scopes.remove(scopes.size() - 1);
            List<Map<String, Variable>> ends = scopes;
            scopes = head;
            if (!join(ends, passes > 0)) {
                break;
            }
            again(at - begin);
            at = begin;
            written = startWritten;
            executed = startExecuted;
        }
        for (List<Map<String, Variable>> state : breaks) {
            join(state, false);
        }
        breaks = outer;
        turning--;
        long count = (long) Math.max(most, 1);
        cost(FormatConstants.GLSL_MOST_LOOP, (count - 1) * (executed - startExecuted) + count * compared);
    }

    /** Returns the most turns of a loop; TURNS with END_AFTER ends it where coordinates are at most 2. */
    private double counted(double most, int bound, String turn) {
        String count = peek(bound + 2 - at);
        List<String> header = Arrays.asList("TURNS", "(", count, ")", "{", "END_AFTER", "(", count, ",", turn, ")");
        for (int k = 0; k < header.size(); k++) {
            if (!header.get(k).equals(peek(k < 4 ? bound + k - at : k - 4))) {
                return most;
            }
        }
        Variable coordinate = find("coord0");
        if (coordinate == null || !coordinate.kind.equals("varying")) {
            return most;
        }
        int after = at;
        at = bound + 2;
        double ended = expression().most;
        at = after;
        needsCoordinatesInside |= ended < most;
        return ended;
    }

    // Expressions

    private Value expression() {
        Value value = binary(1);
        if (take("?")) {
            typed(BOOL, value);
            cost(FormatConstants.GLSL_MOST_CHOICE, 1);
            chosen++;
            value = binary(1);
            expect(":");
            value = value.hull(typed(value.type, binary(1)));
            chosen--;
        }
        return value;
    }

    private static int levelOf(String sign) {
        for (int k = 0; k < LEVELS.length; k++) {
            if (!sign.isEmpty() && LEVELS[k].contains(" " + sign + " ")) {
                return k + 1;
            }
        }
        return 0;
    }

    private Value binary(int level) {
        Value value = unary();
        while (true) {
            String sign = tokens.get(at);
            int own = levelOf(sign);
            if (own < level) {
                return value;
            }
            at++;
            chosen += own < 3 ? 1 : 0;
            value = combine(sign, value, binary(own + 1));
            chosen -= own < 3 ? 1 : 0;
        }
    }

    /** Returns the value of an operation; refuses operations that can crash compilers. */
    private Value combine(String sign, Value left, Value operand) {
        operators++;
        cost(1, 1);
        if (operators > FormatConstants.GLSL_MOST_OPERATORS) {
            throw refused("a statement has more than " + FormatConstants.GLSL_MOST_OPERATORS + " operations");
        }
        if (levelOf(sign) < 5) {
            if (left.type != operand.type || levelOf(sign) < 3 && left.type != BOOL) {
                throw refused("values of two types");
            }
            return new Value(BOOL, 0, 1, 0);
        }
        int type = operand.type == FLOAT ? left.type : operand.type;
        boolean integers = left.type == INT && operand.type == INT;
        if (type > 4 || left.type != type && left.type != FLOAT || (type == INT) != integers) {
            throw refused("values of two types");
        }
        Value right = sign.equals("-") ? operand.negative() : operand;
        int marks = joined(left.marks, right.marks);
        if (type == INT) {
            return integer(sign, left, right, marks);
        }
        if (!sign.equals("/")) {
            return constant(sign.equals("*") ? product(type, left, right, marks) : sum(type, left, right, marks));
        }
        if (right.canBeZero() && right.has(CONST)) {
            throw refused("a division by a constant that can be 0");
        }
        if (right.uniform.isEmpty()) {
            return constant(quotient(type, left, right, marks));
        }
        divisors.add(right.uniform);
        double far = FormatConstants.GLSL_MOST_UNIFORM;
        return constant(product(type, left, new Value(type, -far, far, 0), marks));
    }

    private Value integer(String sign, Value left, Value right, int marks) {
        if (sign.equals("/")) {
            throw refused("a division of integers");
        }
        double[] ends = {left.least + right.least, left.most + right.most};
        if (sign.equals("*")) {
            ends = new double[] {
                left.least * right.least, left.least * right.most, left.most * right.least, left.most * right.most
            };
        }
        Arrays.sort(ends);
        if (ends[0] < -LARGEST_INT || ends[ends.length - 1] > LARGEST_INT) {
            throw refused("an integer that is too large");
        }
        return new Value(INT, ends[0], ends[ends.length - 1], marks);
    }

    /** Returns a value; refuses infinite constants, and coordinates too far from the texture. */
    private Value constant(Value value) {
        double far = inCoordinate ? FormatConstants.GLSL_MOST_COORDINATE : FormatConstants.MAX_FLOAT;
        if (value.has(CONST) && (value.has(WILD) || Math.max(-value.least, value.most) > far)) {
            throw refused("a constant is too large");
        }
        return value;
    }

    private static int joined(int first, int other) {
        return (first | other) & WILD | first & other & CONST;
    }

    private static boolean isWithin(double least, double most) {
        return least >= -MOST_GROWN && most <= MOST_GROWN;
    }

    /** Returns a value with its interval rounded outward. */
    private static Value rounded(int type, double least, double most, int marks) {
        return rounded(type, least, most, marks, 1);
    }

    private static Value rounded(int type, double least, double most, int marks, double reach) {
        double low = least - Math.abs(least) * EPSILON;
        double high = most + Math.abs(most) * EPSILON;
        low = low > 0 && low <= TINY ? 0 : low; // GPUs can flush it to 0
        high = high < 0 && high >= -TINY ? 0 : high;
        double far = FormatConstants.MAX_FLOAT;
        return new Value(type, low >= -far ? low : -INFINITY, high <= far ? high : INFINITY, marks, "", reach);
    }

    private static Value sum(int type, Value left, Value right, int marks) {
        Value grown = left.has(GROWN) ? left : right;
        Value other = left.has(GROWN) ? right : left;
        if (grown.has(GROWN) && !other.has(GROWN) && other.isSmall()) {
            return new Value(type, -MOST_GROWN, MOST_GROWN, marks | GROWN, "", Math.max(left.reach, right.reach));
        }
        // Infinite values of both signs, perhaps in another order
        boolean opposed = left.most > MOST_GROWN && right.least < -MOST_GROWN
                || left.least < -MOST_GROWN && right.most > MOST_GROWN;
        if (opposed) {
            return Value.unknown(type, marks);
        }
        double reach = Math.max(left.reach, right.reach);
        return rounded(type, left.least + right.least, left.most + right.most, marks, reach);
    }

    private static Value product(int type, Value left, Value right, int marks) {
        double reach = left.reach() * right.reach();
        if (reach > FAR) {
            return Value.unknown(type, marks);
        }
        if (left.least == 0 && left.most == 0 || right.least == 0 && right.most == 0) {
            return new Value(type, 0, 0, (marks & WILD) != 0 ? marks : CONST);
        }
        double[] ends = {
            left.least * right.least, left.least * right.most, left.most * right.least, left.most * right.most
        };
        Arrays.sort(ends);
        return rounded(type, ends[0], ends[3], marks, reach);
    }

    /** Returns the product with the reciprocal, as drivers divide: that of a large number can be 0 on a GPU. */
    private static Value quotient(int type, Value left, Value right, int marks) {
        if (right.canBeZero()) {
            return Value.unknown(type, marks);
        }
        return product(type, left, rounded(type, 1 / right.most, 1 / right.least, right.marks), marks);
    }

    /** Returns the smaller or the larger of two values; of NaN and a number, the number. */
    private static Value bounded(int type, Value first, Value other, boolean smaller) {
        boolean wild = first.has(WILD) || other.has(WILD);
        double least = smaller ? Math.min(first.least, other.least) : Math.max(first.least, other.least);
        double most = smaller ? Math.min(first.most, other.most) : Math.max(first.most, other.most);
        if (first.has(WILD)) {
            least = Math.min(least, other.least);
            most = Math.max(most, other.most);
        }
        if (other.has(WILD)) {
            least = Math.min(least, first.least);
            most = Math.max(most, first.most);
        }
        boolean grows = ((first.marks | other.marks) & GROWN) != 0
                && isWithin(least, most)
                && !wild
                && (first.has(GROWN) || (smaller ? -first.least : first.most) <= SMALL)
                && (other.has(GROWN) || (smaller ? -other.least : other.most) <= SMALL);
        int marks = first.marks & other.marks & (WILD | CONST);
        return new Value(type, least, most, marks | (grows ? GROWN : 0));
    }

    /** Returns a value between two bounds; if they can be in the wrong order, drivers return either. */
    private static Value clamped(int type, Value value, Value low, Value high) {
        Value clipped = bounded(type, bounded(type, value, low, false), high, true);
        if (low.most <= high.least) return clipped;
        return clipped.hull(bounded(type, bounded(type, value, high, true), low, false));
    }

    private static Value mixed(int type, Value left, Value right, Value share) {
        int marks = (left.marks | right.marks | share.marks) & WILD | left.marks & right.marks & share.marks & CONST;
        if (share.least >= -1e-5 && share.most <= 1.00001) {
            Value both = left.hull(right);
            if (both.reach() * share.reach > FAR) {
                return Value.unknown(type, marks);
            }
            double reach = both.reach * share.reach;
            if (both.has(GROWN)) {
                return new Value(type, -MOST_GROWN, MOST_GROWN, marks | GROWN, "", reach);
            }
            double far = 1e-4 * Math.max(Math.abs(both.least), Math.abs(both.most));
            return rounded(type, both.least - far, both.most + far, marks, reach);
        }
        Value complement = sum(FLOAT, new Value(FLOAT, 1, 1, CONST), share.negative(), marks);
        Value first = product(type, left, complement, marks);
        Value second = product(type, right, share, marks);
        return sum(type, first, second, marks | (first.marks | second.marks | complement.marks) & WILD);
    }

    private Value unary() {
        if (!take("-")) {
            return operand();
        }
        cost(1, 1);
        if (peek(0).equals("-")) {
            throw refused("two signs in a row");
        }
        return unary().negative();
    }

    private Value operand() {
        Value value = primary();
        if (!take(".")) {
            return value;
        }
        if (value.type < 2 || value.type > 4) {
            throw refused("components of a number");
        }
        return new Value(component(), value.least, value.most, value.marks, value.uniform, value.reach);
    }

    /** Reads components; returns their number. */
    private int component() {
        String token = next();
        if (!SWIZZLE.matcher(token).matches()) {
            throw refused("a component is expected");
        }
        return token.length();
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
        if (!token.isEmpty() && token.charAt(0) >= '0' && token.charAt(0) <= '9') {
            return numberOf(token);
        }
        if (macros.containsKey(token)) {
            return macro(token, false);
        }
        if (typeOf(token) >= 0 || peek(0).equals("(")) {
            return called(Collections.singletonList(token));
        }
        Variable variable = find(token);
        if (variable == null || variable.type == SAMPLER) {
            throw refused("'" + start(token) + "' is no name of a number here");
        }
        if (variable.size > 0) {
            expect("[");
            Value index = expression();
            expect("]");
            boolean isConstant = index.type == INT && index.has(CONST);
            if (!isConstant || index.least < 0 || index.most >= variable.size) {
                throw refused("an index of '" + token + "' is a constant from 0 to " + (variable.size - 1));
            }
        }
        if (variable.value == null) {
            throw refused("'" + token + "' is used before it has a value");
        }
        if (variable.isState()) {
            usesGlobals = true;
            globalsRead.add(token);
            unchanged(token);
        }
        return constant(variable.value);
    }

    private Value numberOf(String token) {
        double value = Double.parseDouble(token);
        if (token.indexOf('.') < 0 && token.indexOf('e') < 0) {
            if (value > LARGEST_INT || token.charAt(0) == '0' && token.length() > 1) {
                throw refused("an integer that is too large, or octal");
            }
            return new Value(INT, value, value, CONST);
        }
        constant(new Value(FLOAT, value, value, CONST));
        return rounded(FLOAT, value, value, CONST);
    }

    /** Reads the arguments of a function; {@code names} has all possible functions of a macro. */
    private Value called(List<String> names) {
        nested(1);
        expect("(");
        if (names.size() == 1 && names.get(0).equals("texture2D")) {
            return fetch();
        }
        final List<Value> values = new ArrayList<Value>();
        final List<Integer> types = new ArrayList<Integer>();
        boolean others = isCalling;
        while (!take(")")) {
            if (!values.isEmpty()) {
                expect(",");
            }
            if (isSampler(tokens.get(at))) {
                at++;
                values.add(new Value(SAMPLER, 0, 0, 0));
            } else {
                Value value = expression();
                values.add(value.as(value.type));
            }
            types.add(values.get(values.size() - 1).type);
        }
        nested(-1);
        boolean inner = isCalling;
        isCalling = others; // arguments are computed before the call
        Value result = each(names, new Way<String>() {
            @Override
            public Value in(String name) {
                String signature = name + "(" + types;
                return functions.containsKey(signature) ? call(signature, values) : constant(builtin(name, values));
            }
        });
        isCalling |= inner;
        return result;
    }

    private static int argumentsOf(String name) {
        if (name.equals("clamp") || name.equals("mix")) {
            return 3;
        }
        return Arrays.asList("dot", "lessThan", "max", "min", "pow", "step").contains(name) ? 2 : 1;
    }

    /** Returns the value of a built-in function. */
    private Value builtin(String name, List<Value> arguments) {
        boolean slow = SLOW.contains(name);
        cost(
                SLOWEST.contains(name)
                        ? FormatConstants.GLSL_MOST_SLOWEST
                        : slow ? FormatConstants.GLSL_MOST_SLOW : 1,
                1);
        int type = 0;
        int marks = arguments.isEmpty() ? 0 : CONST;
        int wild = 0;
        boolean integers = false;
        for (Value value : arguments) {
            type = Math.max(type, value.type);
            marks &= value.marks;
            wild |= value.marks & WILD;
            integers |= value.type == INT;
        }
        boolean isConstant = marks != 0;
        marks |= wild;
        if (typeOf(name) >= 0 && !name.equals("sampler2D") && !arguments.isEmpty() && type <= BOOL) {
            return constructed(name, arguments, marks);
        }
        boolean isTranscendental = TRANSCENDENTAL.contains(name);
        if (!isTranscendental && !FUNCTIONS.contains(name) || type > 4 || integers) {
            throw refused("'" + start(name) + "' is no function of this format and arguments");
        }
        if (arguments.size() != argumentsOf(name)) {
            throw refused("'" + name + "' has " + arguments.size() + " arguments");
        }
        if (isTranscendental && isConstant) {
            if (calls == 0) {
                throw refused("'" + name + "' of constants");
            }
            marks &= WILD; // in a function, for some of its arguments: no exact value is known here
        }
        Value first = arguments.get(0);
        if (first.isInfinite() && Arrays.asList("sin", "cos", "fract").contains(name)) {
            marks |= WILD;
        }
        if (name.equals("lessThan")) {
            return new Value(BOOL, 0, 1, 0);
        }
        if (CAN_BE_NAN.contains(name)) {
            return Value.unknown(type, marks);
        }
        if (name.equals("min") || name.equals("max")) {
            return bounded(type, first, arguments.get(1), name.equals("min"));
        }
        if (name.equals("clamp")) {
            return clamped(type, first, arguments.get(1), arguments.get(2));
        }
        if (name.equals("mix")) {
            return mixed(type, first, arguments.get(1), arguments.get(2));
        }
        if (name.equals("dot")) {
            Value scaled = product(FLOAT, first, arguments.get(1), marks);
            double least = Math.min(scaled.least, scaled.least * type);
            return rounded(FLOAT, least, Math.max(scaled.most, scaled.most * type), scaled.marks, scaled.reach);
        }
        if (name.equals("abs")) {
            double least = Math.min(Math.abs(first.least), Math.abs(first.most));
            boolean both = first.least < 0 && first.most > 0;
            double most = Math.max(Math.abs(first.least), Math.abs(first.most));
            return new Value(type, both ? 0 : least, most, marks, "", first.reach);
        }
        if (name.equals("floor")) {
            return new Value(type, Math.floor(first.least), Math.floor(first.most), marks);
        }
        if (name.equals("fract") || name.equals("step")) {
            return new Value(type, 0, 1, marks);
        }
        if (name.equals("exp") || name.equals("exp2")) {
            return new Value(type, 0, INFINITY, marks);
        }
        return new Value(type, -1.01, 1.01, marks); // sin or cos
    }

    private Value constructed(String name, List<Value> arguments, int marks) {
        double least = INFINITY;
        double most = -INFINITY;
        double reach = 1;
        boolean grows = false;
        boolean near = true;
        for (Value value : arguments) {
            least = Math.min(least, value.least);
            most = Math.max(most, value.most);
            reach = Math.max(reach, value.reach);
            grows |= value.has(GROWN);
            near &= value.has(GROWN) || value.isSmall();
        }
        if (name.equals("int")) {
            if ((marks & CONST) == 0 || least < -LARGEST_INT || most > LARGEST_INT) {
                throw refused("'int' of a variable");
            }
            return new Value(INT, (long) least, (long) most, marks);
        }
        marks |= grows && near && isWithin(least, most) ? GROWN : 0;
        return new Value(typeOf(name), least, most, marks, "", reach);
    }

    /** Reads the arguments of texture2D after its bracket. */
    private Value fetch() {
        if (!isSampler(next())) {
            throw refused("texture2D reads a sampler of the shader");
        }
        expect(",");
        boolean outer = inCoordinate;
        inCoordinate = true;
        Value value = expression();
        inCoordinate = outer;
        // In a function a coordinate can be constant for one call and not for the next.
        if (value.type != 2 || value.has(calls > 0 ? WILD : CONST | WILD)) {
            throw refused("a coordinate is constant, or can be NaN");
        }
        expect(")");
        nested(-1);
        cost(FormatConstants.GLSL_MOST_FETCH, FormatConstants.GLSL_MOST_FETCH);
        return new Value(4, 0, 1, 0);
    }

    /** Reads every possible definition of a macro at its use. */
    private Value macro(final String name, final boolean isStatement) {
        List<Macro> all = macros.get(name);
        final int here = at - 1;
        int count = all.get(0).params.size();
        boolean others = expanding > 3;
        for (Macro definition : all) {
            others |= definition.params.size() != count;
        }
        if (others) {
            throw refused("macro '" + name + "' has other parameters elsewhere, or is too deep");
        }
        if (count == 0 && peek(0).equals("(")) { // another name of a function
            List<String> names = new ArrayList<String>();
            for (Macro definition : all) {
                for (String token : definition.body) {
                    if (!token.equals(name) && macros.containsKey(token)) {
                        throw refused("macro '" + name + "' is another name of a macro");
                    }
                }
                names.add(definition.body.size() == 1 ? definition.body.get(0) : name);
            }
            return called(names);
        }
        boolean isFirst = here > 0 ? BEFORE.contains(tokens.get(here - 1)) : alone;
        final List<List<String>> tokenLists = count > 0 ? arguments(name, count) : new ArrayList<List<String>>();
        final boolean isAlone = isFirst && (peek(0).isEmpty() ? alone : AFTER.contains(peek(0)));
        final List<String> outerTokens = tokens;
        final int outerAt = at;
        final int outerPlace = place;
        final boolean outerAlone = alone;
        nested(1);
        expanding++;
        Value result = each(all, new Way<Macro>() {
            @Override
            public Value in(Macro definition) {
                List<String> expanded = new ArrayList<String>();
                for (String token : definition.body) {
                    int param = definition.params.indexOf(token);
                    if (param < 0) {
                        expanded.add(token);
                    } else {
                        expanded.addAll(tokenLists.get(param));
                    }
                }
                again(expanded.size());
                boolean isEmpty = expanded.isEmpty();
                expanded.add("");
                tokens = expanded;
                at = 0;
                place = outerPlace < 0 ? here : outerPlace;
                alone = isAlone;
                Value value = null;
                if (!isStatement) {
                    value = isAlone ? expression() : unary();
                } else if (!isEmpty) {
                    statement();
                }
                if (!peek(0).isEmpty()) {
                    throw refused(
                            "macro '" + name + "' needs brackets");
                }
                tokens = outerTokens;
                at = outerAt;
                place = outerPlace;
                alone = outerAlone;
                return value;
            }
        });
        expanding--;
        nested(-1);
        return result == null ? new Value(BOOL, 0, 0, 0) : result;
    }

    /** Returns the tokens of each argument of a macro. */
    private List<List<String>> arguments(String name, int count) {
        expect("(");
        List<List<String>> tokenLists = new ArrayList<List<String>>();
        tokenLists.add(new ArrayList<String>());
        int depth = 0;
        while (depth != 0 || !peek(0).equals(")")) {
            String token = next();
            if (token.isEmpty() || token.startsWith("#")) {
                throw refused("the arguments of macro '" + name + "' do not end");
            }
            depth += ("([".contains(token) ? 1 : 0) - (")]".contains(token) ? 1 : 0);
            if (token.equals(",") && depth == 0) {
                tokenLists.add(new ArrayList<String>());
            } else {
                tokenLists.get(tokenLists.size() - 1).add(token);
            }
        }
        at++;
        if (tokenLists.size() != count) {
            throw refused("macro '" + name + "' has " + count + " parameters");
        }
        return tokenLists;
    }
}
