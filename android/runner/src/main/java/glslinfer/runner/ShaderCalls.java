package glslinfer.runner;

import glslinfer.runner.ShaderValues.Argument;
import glslinfer.runner.ShaderValues.Called;
import glslinfer.runner.ShaderValues.Cost;
import glslinfer.runner.ShaderValues.Value;
import glslinfer.runner.ShaderValues.Variable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Parser of expressions with function calls, fetches and macros: intervals of their values, and their costs. */
abstract class ShaderCalls extends ShaderExpressions {
    static final List<String> FUNCTIONS = Arrays.asList(FormatConstants.GLSL_FUNCTIONS);
    static final List<String> CURVES = Arrays.asList(FormatConstants.GLSL_CURVES);

    private static final List<String> SLOW = Arrays.asList(FormatConstants.GLSL_SLOW);
    private static final List<String> SLOWEST = Arrays.asList(FormatConstants.GLSL_SLOWEST);
    private static final List<String> WILD_FUNCTIONS = Arrays.asList(FormatConstants.GLSL_WILD);

    ShaderCalls(ShaderLines lines) {
        super(lines);
    }

    private static int costOf(String name) {
        if (SLOWEST.contains(name)) {
            return FormatConstants.GLSL_MOST_SLOWEST;
        }
        return SLOW.contains(name) ? FormatConstants.GLSL_MOST_SLOW : 1;
    }

    /** Parses a statement. */
    abstract void statement();

    @Override
    Value call(List<String> names) {
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
            Value value = ShaderValues.ANY;
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
        boolean isBounded = Arrays.asList("min", "max", "clamp").containsAll(names); // any of them
        wild = wild > 0 && !(isBounded && tame > 0) ? ShaderValues.WILD : 0;
        for (String name : names) {
            add(costOf(name), 1);
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
                wild |= WILD_FUNCTIONS.contains(name) ? ShaderValues.WILD : 0;
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
        return constant(new Value(false, -4 * far * far, 4 * far * far, wild)); // any of the others
    }

    /** Discards the values of global variables, because a function of the shader could have changed them. */
    private void forget() {
        for (Map.Entry<String, Variable> entry : scopes.get(0).entrySet()) {
            Variable variable = entry.getValue();
            if (variable.kind.equals("global")) {
                if (variable.value == null) {
                    throw refused("'" + entry.getKey() + "' has no value yet, and a function is called");
                }
                variable.value = new Value(false, Double.NaN, Double.NaN, variable.value.marks & ShaderValues.WILD);
            }
        }
    }

    /** Parses the arguments of texture2D after its bracket. */
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
        return ShaderValues.ANY;
    }

    @Override
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
            count = start; // counted where it is used
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
        return result == null ? ShaderValues.ANY : result;
    }
}
