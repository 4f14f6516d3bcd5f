package glslinfer.runner;

import glslinfer.runner.Layout.Value;
import java.util.List;
import java.util.Map;

/** Everything that manifest.json says. */
public final class Manifest {
    static final String FORMAT = "glslnn";
    static final int VERSION = 1;
    static final String PREPROCESSING = "center-square/area-average";
    static final String PROBE_FORMULA = "((3*x*x + 5*y*y + 7*x*y) div 8 + 89*c) mod 256";

    /** Name of the network. */
    public final String name;

    /** The layer whose output is the result. */
    public final String outputLayer;

    public final List<Layer> layers;
    public final Input input;
    public final Limits limits;
    public final List<Program.Texture> textures;
    public final List<Program.ShaderProgram> programs;
    public final List<Program.Pass> passes;

    /** {@code logits}, a vector in fixed point, or {@code image}, a feature map. */
    public final String outputName;

    /** Where the result lies. */
    public final Value output;

    final Probe.Expected probe;
    final Map<String, String> members;

    Manifest(
            String name,
            String outputLayer,
            List<Layer> layers,
            Input input,
            Limits limits,
            List<Program.Texture> textures,
            List<Program.ShaderProgram> programs,
            List<Program.Pass> passes,
            String outputName,
            Value output,
            Probe.Expected probe,
            Map<String, String> members) {
        this.name = name;
        this.outputLayer = outputLayer;
        this.layers = layers;
        this.input = input;
        this.limits = limits;
        this.textures = textures;
        this.programs = programs;
        this.passes = passes;
        this.outputName = outputName;
        this.output = output;
        this.probe = probe;
        this.members = members;
    }

    /** Returns a layer by its name; null where there is none. */
    public Layer layer(String wanted) {
        for (Layer layer : layers) {
            if (layer.name.equals(wanted)) {
                return layer;
            }
        }
        return null;
    }

    /** Returns how many classes the result has: 0 where it is an image. */
    public int classes() {
        return output instanceof Layout.FixedPoint ? ((Layout.FixedPoint) output).length : 0;
    }

    /** A node of the network: where the runner finds its output, and what a reference computes it from. */
    public static final class Layer {
        public final String name;
        public final String op;
        public final List<String> inputs;
        public final Value output;
        final Map<String, Object> attrs;
        final List<int[]> weights;
        final List<String> members;

        Layer(
                String name,
                String op,
                List<String> inputs,
                Map<String, Object> attrs,
                List<int[]> weights,
                List<String> members,
                Value output) {
            this.name = name;
            this.op = op;
            this.inputs = inputs;
            this.attrs = attrs;
            this.weights = weights;
            this.members = members;
            this.output = output;
        }

        boolean isInput() {
            return op.equals("input");
        }
    }

    /** The picture: {@code size} x {@code size} pixels, in {@code texture} from texel (x, y) on. */
    public static final class Input {
        public final String texture;
        public final int size;
        public final int x;
        public final int y;

        Input(String texture, int size, int x, int y) {
            this.texture = texture;
            this.size = size;
            this.x = x;
            this.y = y;
        }
    }

    /** What the bundle needs of a driver, in the order of the format's table. */
    public static final class Limits {
        static final String[] KEYS = {
            "texture_units", "texture_size", "fragment_uniform_vectors", "varying_vectors", "vertex_attributes"
        };

        final int[] values;

        Limits(int... values) {
            this.values = values;
        }
    }
}
