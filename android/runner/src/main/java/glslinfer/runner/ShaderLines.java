package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Preprocessor of fragment shaders: removes comments, evaluates conditions if possible, and splits the result into
 * tokens.
 */
final class ShaderLines {
    /** Tokens; {@code #if}, {@code #else} and {@code #endif} remain for conditions that depend on the device. */
    final List<String> tokens = new ArrayList<String>();

    /** Line of each token, from 1. */
    final List<Integer> numbers = new ArrayList<Integer>();

    /** Macro definitions of the tokens {@code #0}, {@code #1} ... */
    final List<Macro> macros = new ArrayList<Macro>();

    private static final List<String> LINES = Arrays.asList(FormatConstants.GLSL_LINES);
    private static final List<String> STATEMENTS = Arrays.asList(FormatConstants.GLSL_STATEMENTS);
    private static final List<String> OPERATORS = Arrays.asList("+ * / - ? < == > && || != <= >=".split(" "));
    private static final Pattern TOKEN = Pattern.compile(FormatConstants.GLSL_TOKEN_PATTERN);
    private static final Pattern MACRO = Pattern.compile(FormatConstants.GLSL_MACRO_PATTERN);
    private static final Pattern CONDITION = Pattern.compile("!?defined\\(\\w+\\)(?: && !?defined\\(\\w+\\))*");
    private static final Pattern TERM = Pattern.compile("(!?)defined\\((\\w+)\\)");
    private static final Pattern DEFINE = Pattern.compile("(\\w+)(?:\\((\\w+(?:, \\w+)*)\\))?(?: (.*))?");
    private static final Pattern FOREIGN = Pattern.compile("[^ -~]|\\\\|/\\*");

    private final String member;
    private final Map<String, State> known = new HashMap<String, State>();
    private final List<State> branches = new ArrayList<State>();
    private int number;

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
    static final class Macro {
        String name;
        List<String> params = Collections.emptyList();
        List<String> body;
        boolean certain;

        /** It has an operator outside of brackets. */
        boolean loose;
    }

    /** Reads a shader; throws BundleError. */
    ShaderLines(String member, String text) {
        this.member = member;
        for (String name : FormatConstants.GLSL_DEVICE) {
            known.put(name, State.PERHAPS);
        }
        String[] lines = text.split("\n", -1);
        if (!text.endsWith("\n")) {
            throw refused(lines.length, "it does not end with a line feed");
        }
        for (number = 1; number < lines.length; number++) {
            if (FOREIGN.matcher(lines[number - 1]).find()) {
                throw refused(number, "a character that is not allowed, or a comment with /*");
            }
            String line = lines[number - 1];
            int end = line.contains("//") ? line.indexOf("//") : line.length();
            while (end > 0 && line.charAt(end - 1) == ' ') {
                end--;
            }
            line = line.substring(0, end);
            if (line.startsWith("#")) {
                directive(line.substring(1));
            } else if (!line.isEmpty() && !branches.contains(State.NO)) {
                for (String token : tokensOf(line)) {
                    add(token);
                }
                if (tokens.size() > FormatConstants.GLSL_MOST_TOKENS) {
                    throw refused(
                            number, "the shader has more than " + FormatConstants.GLSL_MOST_TOKENS + " tokens");
                }
            }
        }
        if (!branches.isEmpty()) {
            throw refused(number - 1, "a condition without #endif");
        }
    }

    /** Returns the error for a line. */
    BundleError refused(int line, String what) {
        return new BundleError("shader '" + member + "' line " + line + ": " + what + "; export the model again");
    }

    private void add(String token) {
        tokens.add(token);
        numbers.add(number);
    }

    private List<String> tokensOf(String line) {
        List<String> found = new ArrayList<String>();
        Matcher token = TOKEN.matcher(line);
        for (int at = 0; at < line.length(); at = token.end()) {
            token.region(at, line.length());
            if (!token.lookingAt() || token.end() - at > FormatConstants.GLSL_MOST_NAME) {
                String shown = line.substring(at, Math.min(at + 12, line.length()));
                throw refused(number, "'" + shown + "' is no GLSL of this format");
            }
            if (line.charAt(at) != ' ') {
                found.add(token.group());
            }
        }
        return found;
    }

    private void directive(String line) {
        int space = line.indexOf(' ');
        String word = space < 0 ? line : line.substring(0, space);
        String rest = space < 0 ? "" : line.substring(space + 1);
        boolean live = !branches.contains(State.NO);
        State state;
        if (word.equals("ifdef") || word.equals("ifndef") || word.equals("if")) {
            state = condition(word.equals("if") ? rest : (word.equals("ifdef") ? "" : "!") + "defined(" + rest + ")");
            branches.add(state);
        } else if ((word.equals("else") || word.equals("endif")) && rest.isEmpty()) {
            if (branches.isEmpty()) {
                throw refused(number, "#" + word + " without a condition");
            }
            state = branches.remove(branches.size() - 1);
            live = !branches.contains(State.NO);
            if (word.equals("else")) {
                branches.add(state.not());
            }
        } else {
            if (!word.equals("define") && !word.equals("undef")) {
                String shown = word.substring(0, Math.min(12, word.length()));
                throw refused(number, "#" + shown + " is not used in this format");
            }
            if (live) {
                definition(word.equals("define"), rest);
            }
            return;
        }
        if (live && state == State.PERHAPS) {
            add(word.startsWith("i") ? "#if" : "#" + word);
        }
    }

    private State condition(String text) {
        boolean right = CONDITION.matcher(text).matches() && branches.size() < FormatConstants.GLSL_MOST_CONDITIONS;
        State all = State.YES;
        for (Matcher term = TERM.matcher(text); term.find(); ) {
            right = right && MACRO.matcher(term.group(2)).matches();
            State state = known.containsKey(term.group(2)) ? known.get(term.group(2)) : State.NO;
            state = term.group(1).isEmpty() ? state : state.not();
            all = all == State.NO || state == State.YES ? all : state;
        }
        if (!right) {
            throw refused(number, "a condition that is not of this format, or too deep");
        }
        return all;
    }

    private void definition(boolean begins, String rest) {
        Matcher found = DEFINE.matcher(rest);
        boolean exempt = LINES.contains(rest);
        boolean right = found.matches();
        if (!right || !exempt && (begins && STATEMENTS.contains(found.group(1)) || !isMacro(found.group(1)))) {
            throw refused(number, "a macro that is not of this format");
        }
        Macro made = new Macro();
        made.certain = !branches.contains(State.PERHAPS);
        made.name = found.group(1);
        known.put(made.name, !made.certain ? State.PERHAPS : begins ? State.YES : State.NO);
        add("#" + macros.size());
        macros.add(made);
        if (!begins) {
            return;
        }
        if (found.group(2) != null) {
            made.params = Arrays.asList(found.group(2).split(", "));
        }
        made.body = tokensOf(found.group(3) == null ? "" : found.group(3));
        if (made.body.size() > FormatConstants.GLSL_MOST_MACRO || made.params.size() > 4) {
            throw refused(number, "macro '" + made.name + "' is longer than any of this format");
        }
        int depth = 0;
        boolean unequal = false;
        for (int at = 0; at < made.body.size(); at++) {
            String token = made.body.get(at);
            depth += ("([".contains(token) ? 1 : 0) - (")]".contains(token) ? 1 : 0);
            made.loose |= depth == 0 && at > 0 && OPERATORS.contains(token);
            boolean beside = at > 0 && "*/-.[".contains(made.body.get(at - 1))
                    || at + 1 < made.body.size() && "*/-[".contains(made.body.get(at + 1));
            unequal |= depth < 0 || !exempt && beside && made.params.contains(token);
        }
        if (depth != 0 || unequal) {
            throw refused(number, "macro '" + made.name + "' has unequal brackets, or an operator beside a parameter");
        }
    }

    private static boolean isMacro(String name) {
        return MACRO.matcher(name).matches();
    }
}
