package glslinfer.runner;

import glslinfer.runner.Layout.Value;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** What a model computes: what its passes leave in textures, and what is done with that afterwards. */
public final class Output {
    static final String CLASSES = "classes";
    static final String IMAGE = "image";
    static final String MASK = "mask";
    static final String VALUES = "values";

    public final String name;

    /** What it is for: {@code classes}, {@code image}, {@code mask} or {@code values}. */
    public final String purpose;

    /** What the passes leave. */
    public final List<Value> values;

    /** What the CPU does with these, in order. */
    public final List<HostStep> steps;

    private final int[] shape;

    /** @param shape of the result, after all steps */
    Output(String name, String purpose, List<Value> values, List<HostStep> steps, int[] shape) {
        this.name = name;
        this.purpose = purpose;
        this.values = Collections.unmodifiableList(values);
        this.steps = Collections.unmodifiableList(steps);
        this.shape = shape;
    }

    /** Returns the shape of the result: none, for a single number, to three lengths. */
    public int[] shape() {
        return shape.clone();
    }

    /** Returns whether the result has probabilities: it ends in softmax or sigmoid. */
    public boolean isProbable() {
        return !steps.isEmpty() && steps.get(steps.size() - 1).isProbable();
    }

    /** Returns the names of all textures that the values lie in. */
    List<String> textures() {
        List<String> names = new ArrayList<String>();
        for (Value value : values) {
            names.addAll(value.textures());
        }
        return names;
    }

    /** Returns the vector whose numbers the probe lists: the only value, if it is one; else null. */
    Layout.FixedPoint vector() {
        return values.size() == 1 && values.get(0) instanceof Layout.FixedPoint
                ? (Layout.FixedPoint) values.get(0)
                : null;
    }
}
