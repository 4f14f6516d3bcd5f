package glslinfer.runner;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** What a reader knows of the numbers and names in a shader: constants as intervals, and marks. */
final class ShaderValues {
    static final int WILD = 1;
    static final int PLAIN = 2;
    static final Value ANY = new Value(false, Double.NaN, Double.NaN, 0);
    static final Value INTEGER = new Value(true, Double.NaN, Double.NaN, 0);
    static final Value UNIFORM = new Value(false, Double.NaN, Double.NaN, PLAIN);

    private static final double TINY = 1e-30;

    private ShaderValues() {}

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

    /** What a macro's parameter stands for. */
    static final class Argument {
        Value value;
        Cost cost;
    }

    /** Returns the value of an operation with numbers; null for a division that may be by 0, or of integers. */
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
