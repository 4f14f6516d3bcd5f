package glslinfer.runner;

import glslinfer.runner.Layout.Value;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** Everything that manifest.json says; the passes are in {@code passes.bin}, see {@link Bundle#passes}. */
public final class Manifest {
    /** Name of the network. */
    public final String name;

    /** What a frame reads, in the order of the file. */
    public final List<Input> inputs;

    public final Limits limits;
    public final List<Program.Texture> textures;
    public final List<Program.ShaderProgram> programs;

    /** The names of the layers that draw. */
    public final List<String> layers;

    /** The members with 32-bit floats that uniforms are taken from. */
    final List<String> floats;

    final int passCount;
    final int quadCount;

    /** What a frame computes, in the order of the file. */
    public final List<Output> outputs;

    final Probe.Expected probe;
    final Map<String, String> members;
    private final Output classes;

    Manifest(
            String name,
            List<Input> inputs,
            Limits limits,
            List<Program.Texture> textures,
            List<Program.ShaderProgram> programs,
            List<String> layers,
            List<String> floats,
            int passCount,
            int quadCount,
            List<Output> outputs,
            Probe.Expected probe,
            Map<String, String> members) {
        this.name = name;
        this.inputs = Collections.unmodifiableList(inputs);
        this.limits = limits;
        this.textures = textures;
        this.programs = programs;
        this.layers = layers;
        this.floats = floats;
        this.passCount = passCount;
        this.quadCount = quadCount;
        this.outputs = Collections.unmodifiableList(outputs);
        this.probe = probe;
        this.members = members;
        Output forClasses = null;
        for (Output output : outputs) {
            forClasses = output.purpose.equals(Output.CLASSES) ? output : forClasses;
        }
        classes = forClasses;
    }

    /**
     * Returns the only input, which is a picture.
     *
     * @throws Errors.InputError there are several, or it takes numbers
     */
    public Input onlyPicture() {
        if (inputs.size() != 1 || !inputs.get(0).isPicture()) {
            throw new Errors.InputError("the model reads " + inputNames() + ", not one picture alone");
        }
        return inputs.get(0);
    }

    /**
     * Returns the only input.
     *
     * @throws Errors.InputError there are several
     */
    Input onlyInput() {
        if (inputs.size() != 1) {
            throw new Errors.InputError("the model reads " + inputNames() + "; give it a map of these");
        }
        return inputs.get(0);
    }

    /**
     * Returns the only output.
     *
     * @throws Errors.InputError there are several
     */
    Output onlyOutput() {
        if (outputs.size() != 1) {
            throw new Errors.InputError("the model has " + outputs.size()
                    + " outputs; give it a map of its inputs, and get one of outputs");
        }
        return outputs.get(0);
    }

    /** Returns the output that is for classes; null where there is none. Allocates nothing. */
    public Output classesOutput() {
        return classes;
    }

    /** Returns how many classes the model knows: 0 where it has no output for classes. */
    public int classes() {
        return classes == null ? 0 : classes.shape()[0];
    }

    /** Returns where the output of a drawn layer lies, directly after its passes; null where there is no such layer. */
    public Value valueOf(String layer) {
        Probe.Entry entry = probe.of(layer);
        return entry == null ? null : entry.value;
    }

    /** Returns the drawn layers in the order of the probe, which is the self-check's. */
    public List<String> probedLayers() {
        List<String> names = new ArrayList<String>();
        for (Probe.Entry entry : probe.layers) {
            names.add(entry.layer);
        }
        return names;
    }

    /** Returns the inputs' names and kinds, for messages. */
    public String inputNames() {
        StringBuilder names = new StringBuilder();
        for (Input input : inputs) {
            names.append(names.length() > 0 ? ", " : "").append('\'').append(input.name).append("' (");
            names.append(input.isPicture() ? Input.PICTURE : Input.NUMBERS).append(')');
        }
        return names.toString();
    }

    /** What the bundle needs of a driver, in the order of the format's table. */
    public static final class Limits {
        final int[] values;

        Limits(int... values) {
            this.values = values;
        }
    }
}
