package glslinfer.runner;

import glslinfer.runner.Layout.Value;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** Content of manifest.json; the passes are in {@code passes.bin}, see {@link Bundle#passes}. */
public final class Manifest {
    /** Name of the network. */
    public final String name;

    /** Inputs of a frame, in the order of the file. */
    public final List<Input> inputs;

    public final Limits limits;
    public final List<Program.Texture> textures;
    public final List<Program.ShaderProgram> programs;

    /** Names of the drawing layers. */
    public final List<String> layers;

    /** Members with the 32-bit floats of uniforms. */
    final List<String> floats;

    final int passCount;
    final int quadCount;

    /** Outputs of a frame, in the order of the file. */
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
     * Returns the only input, an image.
     *
     * @throws Errors.InputError there are several, or it is not an image
     */
    public Input onlyPicture() {
        if (inputs.size() != 1 || !inputs.get(0).isPicture()) {
            throw new Errors.InputError("the model reads " + inputNames() + ", not one image alone");
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

    /** Returns the output for classes; null if there is none. Allocates nothing. */
    public Output classesOutput() {
        return classes;
    }

    /** Returns the number of classes; 0 without an output for classes. */
    public int classes() {
        return classes == null ? 0 : classes.shape()[0];
    }

    /** Returns the layout of a drawing layer's output, valid directly after its passes; null for other layers. */
    public Value valueOf(String layer) {
        Probe.Entry entry = probe.of(layer);
        return entry == null ? null : entry.value;
    }

    /** Returns the drawing layers in the order of the probe and the self-check. */
    public List<String> probedLayers() {
        List<String> names = new ArrayList<String>();
        for (Probe.Entry entry : probe.layers) {
            names.add(entry.layer);
        }
        return names;
    }

    /** Returns the names and kinds of the inputs, for messages. */
    public String inputNames() {
        StringBuilder names = new StringBuilder();
        for (Input input : inputs) {
            names.append(names.length() > 0 ? ", " : "").append('\'').append(input.name).append("' (");
            names.append(input.isPicture() ? Input.PICTURE : Input.NUMBERS).append(')');
        }
        return names.toString();
    }

    /** Requirements of the bundle on the driver's limits, in the order of the format's table. */
    public static final class Limits {
        final int[] values;

        Limits(Collection<?> values) {
            this.values = new int[values.size()];
            int count = 0;
            for (Object value : values) {
                this.values[count++] = (Integer) value;
            }
        }
    }
}
