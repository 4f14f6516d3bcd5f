package glslinfer.runner;

import glslinfer.runner.Layout.FeatureMap;
import glslinfer.runner.Layout.FixedPoint;
import glslinfer.runner.Layout.Value;
import glslinfer.runner.Layout.View;
import java.util.List;
import java.util.Map;

/** Everything that manifest.json says; the passes are in {@code passes.bin}, see {@link Bundle#passes}. */
public final class Manifest {
    static final String FORMAT = "glslnn";
    static final int VERSION = 2;
    static final String PROFILE = "es2";
    static final String FIT = "center-square/area-average";
    static final String PROBE_FORMULA = "((3*x*x + 5*y*y + 7*x*y) div 8 + 89*c) mod 256";

    /** Name of the network. */
    public final String name;

    public final Input input;
    public final Limits limits;
    public final List<Program.Texture> textures;
    public final List<Program.ShaderProgram> programs;

    /** The names of the layers that draw. */
    public final List<String> layers;

    /** The members with 32-bit floats that uniforms are taken from. */
    final List<String> floats;

    final int passCount;
    final int quadCount;
    public final Output output;
    final Probe.Expected probe;
    final Map<String, String> members;

    Manifest(
            String name,
            Input input,
            Limits limits,
            List<Program.Texture> textures,
            List<Program.ShaderProgram> programs,
            List<String> layers,
            List<String> floats,
            int passCount,
            int quadCount,
            Output output,
            Probe.Expected probe,
            Map<String, String> members) {
        this.name = name;
        this.input = input;
        this.limits = limits;
        this.textures = textures;
        this.programs = programs;
        this.layers = layers;
        this.floats = floats;
        this.passCount = passCount;
        this.quadCount = quadCount;
        this.output = output;
        this.probe = probe;
        this.members = members;
    }

    /** Returns how many classes the result has: 0 where it is an image. */
    public int classes() {
        return output.value instanceof FixedPoint ? ((FixedPoint) output.value).length : 0;
    }

    /** Returns where the output of a drawn layer lies, directly after its passes; null where there is no such layer. */
    public Value valueOf(String layer) {
        Probe.Entry entry = probe.of(layer);
        return entry == null ? null : entry.value;
    }

    /** The picture: {@code size} x {@code size} pixels, in {@code texture} from texel (x, y) on. */
    public static final class Input {
        public final String name;
        public final String texture;
        public final int size;
        public final int x;
        public final int y;
        /** What the bytes of the picture stand for. */
        public final FeatureMap value;

        /** @param value has one view, and is square */
        Input(String name, FeatureMap value) {
            View view = value.views.get(0);
            this.name = name;
            this.texture = view.texture;
            this.size = value.height;
            this.x = view.x;
            this.y = view.y;
            this.value = value;
        }
    }

    /** The result. Its purpose is {@code classes}, a vector in fixed point, or {@code image}, a feature map. */
    public static final class Output {
        public final String name;
        public final String purpose;
        /** Where the result lies. */
        public final Value value;

        Output(String name, String purpose, Value value) {
            this.name = name;
            this.purpose = purpose;
            this.value = value;
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
