package glslinfer.runner;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Values of numbers in a shader, as known without running it: constants as intervals, and marks. */
final class ShaderValues {
    static final int WILD = 1;
    static final int PLAIN = 2;
    static final Value ANY = new Value(false, Double.NaN, Double.NaN, 0);
    static final Value INTEGER = new Value(true, Double.NaN, Double.NaN, 0);
    static final Value UNIFORM = new Value(false, Double.NaN, Double.NaN, PLAIN);

    private static final double TINY = 1e-30;

    private ShaderValues() {}

    /**
     * True for an integer, smallest and largest value as a constant (NaN: unknown), and marks: WILD can be NaN,
     * such as 0 / 0; PLAIN consists of uniforms.
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

        /** Returns the union of two values; a constant if one of them is. */
        Value hull(Value other) {
            int both = (marks | other.marks) & WILD | marks & other.marks;
            if (!isKnown() || !other.isKnown()) {
                Value one = other.isKnown() ? other : this;
                return new Value(one.whole, one.least, one.most, both);
            }
            return new Value(whole, Math.min(least, other.least), Math.max(most, other.most), both);
        }
    }

    /**
     * Operations as compilers see them, with inlined functions; and the executed operations of a fragment, with all
     * loop iterations.
     */
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

    /** Costs of a function call; whether it fetches texels, and whether its result can be NaN. */
    static final class Called {
        Cost cost = new Cost(0, 0);
        boolean fetches;
        int wild;
    }

    /** A variable; {@code value} is null before an assignment. */
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

    /** Variables first assigned in this branch of a condition, and in the branch before. */
    static final class Branch {
        final int depth;
        final List<Variable> now = new ArrayList<Variable>();
        final List<Variable> before;

        Branch(int depth, List<Variable> before) {
            this.depth = depth;
            this.before = before;
        }
    }

    /** Argument of a macro's parameter. */
    static final class Argument {
        Value value;
        Cost cost;
    }

    /** Returns the result of an operation on numbers; null for integer division and possible divisions by 0. */
    static Value mixed(char sign, Value left, Value right) {
        double a = left.least;
        double b = left.most;
        double c = right.least;
        double d = right.most;
        boolean isPlain = (left.isKnown() || (left.marks & PLAIN) != 0)
                && (right.isKnown() || (right.marks & PLAIN) != 0);
        int wild = (left.marks | right.marks) & WILD;
        if (sign == '/' && !right.isKnown() && (right.marks & PLAIN) == 0) {
            wild = WILD;
        }
        if (sign == '/' && (left.whole || right.whole || c <= TINY && d >= -TINY)) {
            return null;
        }
        if (sign == '*' && (a == 0 && b == 0 || c == 0 && d == 0)) {
            return new Value(left.whole, 0, 0, wild);
        }
        if (!left.isKnown() || !right.isKnown()) {
            return new Value(left.whole, Double.NaN, Double.NaN, wild | (isPlain && sign == '*' ? PLAIN : 0));
        }
        double[] ends;
        if (sign == '+') {
            ends = new double[] {a + c, b + d};
        } else if (sign == '-') {
            ends = new double[] {a - d, b - c};
        } else if (sign == '*') {
            ends = new double[] {a * c, a * d, b * c, b * d};
        } else {
            ends = new double[] {a / c, a / d, b / c, b / d};
        }
        Arrays.sort(ends);
        return new Value(left.whole, ends[0], ends[ends.length - 1], wild);
    }
}
