package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import glslinfer.runner.Layout.FeatureMap;
import glslinfer.runner.Layout.Value;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Strict reader of inputs and outputs in manifest.json. */
final class EndReader {
    private EndReader() {}

    /** Reads an input; {@code where} is its name in messages. */
    static Input input(Object data, String where) {
        Fields fields = new Fields(data, where);
        String name = fields.text("name");
        boolean picture = fields.text("kind", FormatConstants.INPUT_KINDS).equals(Input.PICTURE);
        Fit fit = picture ? Fit.of(fields.text("fit", FormatConstants.FITS)) : null;
        Value value = ValueReader.readEnd(fields.any("value"), where + ".value");
        fields.done();
        Caps.checkNumbers(value.count(), "an input");
        if (picture) {
            FeatureMap map = value instanceof FeatureMap ? (FeatureMap) value : null;
            boolean colours = map != null && (map.channels == 1 || map.channels == 3 || map.channels == 4);
            if (!colours || map.views.size() != 1) {
                throw new BundleError(where + ": a picture is a feature map of 1, 3 or 4 channels with 1 view");
            }
            if (map.channels != 4 && map.gutter != 0) {
                throw new BundleError(where + ": a picture of " + map.channels + " channels has a gutter of "
                        + map.gutter + ", not 0");
            }
        }
        return new Input(name, fit, value);
    }

    /** Reads an output; {@code where} is its name in messages. */
    static Output output(Object data, String where) {
        Fields fields = new Fields(data, where);
        String name = fields.text("name");
        String purpose = fields.text("purpose", FormatConstants.PURPOSES);
        List<Object> entries = fields.items("values");
        if (entries.isEmpty() || entries.size() > FormatConstants.MAX_VALUES) {
            throw new BundleError(
                    where + ": " + entries.size() + " values; an output has 1 to " + FormatConstants.MAX_VALUES);
        }
        List<Value> values = new ArrayList<Value>();
        List<int[]> shapes = new ArrayList<int[]>();
        long numbers = 0;
        for (Object entry : entries) {
            Value value = ValueReader.readEnd(entry, where + ".values[" + values.size() + "]");
            values.add(value);
            shapes.add(value.shape());
            numbers += value.count();
        }
        List<HostStep> steps = steps(fields.items("steps"), where);
        fields.done();
        Caps.checkNumbers(numbers, "an output");
        int[] shape;
        try {
            shape = HostStep.shapeOf(steps, shapes);
        } catch (IllegalArgumentException error) {
            throw new BundleError(where + ": " + error.getMessage());
        }
        Output output = new Output(name, purpose, values, steps, shape);
        checkPurpose(output, where);
        return output;
    }

    private static List<HostStep> steps(List<Object> entries, String where) {
        if (entries.size() > FormatConstants.MAX_STEPS) {
            throw new BundleError(
                    where + ": " + entries.size() + " steps; an output has at most " + FormatConstants.MAX_STEPS);
        }
        List<HostStep> steps = new ArrayList<HostStep>();
        for (Object entry : entries) {
            Fields fields = new Fields(entry, where + ".steps[" + steps.size() + "]");
            String step = fields.text("step", FormatConstants.HOST_STEPS);
            boolean rows = step.equals(HostStep.ROWS);
            steps.add(new HostStep(step, rows ? fields.integer("columns", FormatConstants.COLUMNS_RANGE) : 0));
            fields.done();
        }
        return steps;
    }

    private static void checkPurpose(Output output, String where) {
        int[] shape = output.shape();
        if (output.purpose.equals(Output.CLASSES) && shape.length != 1) {
            throw new BundleError(
                    where + ": the result has shape " + Arrays.toString(shape) + "; 'classes' need a vector");
        }
        if (output.purpose.equals(Output.MASK) && shape.length != 2 && shape.length != 3) {
            throw new BundleError(where + ": the result has shape " + Arrays.toString(shape)
                    + "; a 'mask' is (height, width) or (height, width, channels)");
        }
        boolean image = output.values.size() == 1 && output.values.get(0) instanceof FeatureMap;
        if (output.purpose.equals(Output.IMAGE) && !(image && output.steps.isEmpty())) {
            throw new BundleError(where + ": an 'image' is one 8-bit feature map without steps");
        }
    }
}
