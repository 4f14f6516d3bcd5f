package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import glslinfer.runner.Layout.FeatureMap;
import glslinfer.runner.Layout.FixedMap;
import glslinfer.runner.Layout.FixedPoint;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The operators that a bundle may name, with their attributes: the table of docs/bundle-format.md.
 *
 * <p>A runner executes passes and never an operator; the names are checked so that a file which a reference could not
 * compute is refused here too.
 */
final class Operators {
    private static final Map<String, List<String>> ATTRIBUTES = new HashMap<String, List<String>>();

    static {
        add("input", "shape scales zeros");
        add("conv2d", "strides padding groups activation alpha scales zeros");
        add("convolution_products", "strides padding groups block scale");
        add("convolution_sum", "blocks activation scales zeros");
        add("add", "activation scales zeros");
        add("activation", "function scales zeros");
        add("max_pool", "pool strides padding");
        add("average_pool", "pool strides padding scales zeros");
        add("upsample_nearest", "size");
        add("upsample_bilinear", "size scales zeros");
        add("depth_to_space", "block");
        add("zero_padding", "padding");
        add("channel_shuffle", "step");
        add("concat", "");
        add("concat_copy", "");
        add("global_average_pool", "scale");
        add("flatten", "scale");
        add("dense_products", "columns scale");
        add("dense_sum", "count last activation scale bias_scale row_unit");
    }

    private Operators() {}

    private static void add(String op, String attributes) {
        ATTRIBUTES.put(op, attributes.isEmpty() ? Arrays.<String>asList() : Arrays.asList(attributes.split(" ")));
    }

    /**
     * Refuses an operator that no bundle has, attributes that are not exactly its own, and more weights than bytes.
     *
     * @param size bytes of all members of the layer
     */
    static void check(Manifest.Layer layer, long size) {
        String where = "layer '" + layer.name + "'";
        List<String> known = ATTRIBUTES.get(layer.op);
        if (known == null) {
            throw new BundleError(where + ": '" + Fields.shown(layer.op) + "' is no operator of a bundle");
        }
        if (layer.output instanceof FeatureMap == known.contains("scale")) {
            throw new BundleError(where + ": its output has another number of bits than '" + layer.op + "' stores");
        }
        for (String key : known) {
            if (!layer.attrs.containsKey(key)) {
                throw new BundleError(where + ": attribute '" + key + "' is missing");
            }
            boolean ofOutput = key.equals("scale") || key.equals("scales") || key.equals("zeros");
            if (ofOutput && !Arrays.equals(numbers(layer.attrs.get(key)), numbersOf(layer.output, key))) {
                throw new BundleError(where + ": attribute '" + key + "' is not that of its output");
            }
        }
        for (String key : layer.attrs.keySet()) {
            if (!known.contains(key) && !key.equals("fused")) {
                throw new BundleError(where + ": unknown attribute '" + Fields.shown(key) + "'");
            }
        }
        double weights = 0;
        for (int[] shape : layer.weights) {
            double product = 1;
            for (int side : shape) {
                product *= side;
            }
            weights += product;
        }
        if (2 * weights > size) {
            throw new BundleError(where + ": its weights do not fit into its members");
        }
    }

    private static double[] numbersOf(Layout.Value output, String key) {
        if (output instanceof FeatureMap) {
            return key.equals("scales") ? ((FeatureMap) output).scales : ((FeatureMap) output).zeros;
        }
        return new double[] {output instanceof FixedMap ? ((FixedMap) output).scale : ((FixedPoint) output).scale};
    }

    /** Returns a number, or an array of them, as an array; null if it is neither. */
    private static double[] numbers(Object attribute) {
        List<?> items = attribute instanceof List ? (List<?>) attribute : Arrays.asList(attribute);
        double[] out = new double[items.size()];
        for (int i = 0; i < out.length; i++) {
            if (!(items.get(i) instanceof Number)) {
                return null;
            }
            out[i] = ((Number) items.get(i)).doubleValue();
        }
        return out;
    }
}
