package glslinfer.runner;

import glslinfer.runner.Layout.Value;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** An output of a model: the values in textures after its passes, and the host steps. */
public final class Output {
    static final String CLASSES = "classes";
    static final String IMAGE = "image";
    static final String MASK = "mask";
    static final String VALUES = "values";

    public final String name;

    /** Its purpose: {@code classes}, {@code image}, {@code mask} or {@code values}. */
    public final String purpose;

    /** Values computed by the passes. */
    public final List<Value> values;

    /** Host steps of these values, in order. */
    public final List<HostStep> steps;

    private final int[] shape;

    /** @param shape shape of the result, after all steps */
    Output(String name, String purpose, List<Value> values, List<HostStep> steps, int[] shape) {
        this.name = name;
        this.purpose = purpose;
        this.values = Collections.unmodifiableList(values);
        this.steps = Collections.unmodifiableList(steps);
        this.shape = shape;
    }

    /** Returns the shape of the result, with up to three axes; empty for a scalar. */
    public int[] shape() {
        return shape.clone();
    }

    /** Returns whether the result consists of probabilities: the last step is softmax or sigmoid. */
    public boolean isProbable() {
        return !steps.isEmpty() && steps.get(steps.size() - 1).givesProbabilities();
    }

    /** Returns the names of the textures of all values. */
    List<String> textures() {
        List<String> names = new ArrayList<String>();
        for (Value value : values) {
            names.addAll(value.textures());
        }
        return names;
    }

    /** Returns the vector whose elements are in the probe: the only value, if it is a vector; otherwise null. */
    Layout.FixedPoint vector() {
        return values.size() == 1 && values.get(0) instanceof Layout.FixedPoint
                ? (Layout.FixedPoint) values.get(0)
                : null;
    }
}
