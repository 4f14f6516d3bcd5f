package glslinfer.runner;

import glslinfer.runner.Probe.LayerError;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Comparison of a driver's results with the probe, layer by layer and then for a complete frame. */
public final class SelfCheck {
    /** Error of an output of a complete frame, before its host steps. */
    public static final class OutputError {
        public final String output;
        public final double error;
        public final double allowed;

        OutputError(String output, double error, double allowed) {
            this.output = output;
            this.error = error;
            this.allowed = allowed;
        }

        /** Returns whether the error is within the tolerance. */
        public boolean passed() {
            return error <= allowed; // false for NaN
        }
    }

    /** Errors of all layers, in the order of the probe. */
    public final List<LayerError> layers = new ArrayList<LayerError>();

    /** Errors of all outputs of a complete frame, in the order of the manifest; empty if a layer is wrong. */
    public final List<OutputError> outputs = new ArrayList<OutputError>();

    private final String renderer;

    private SelfCheck(String renderer) {
        this.renderer = renderer;
    }

    /**
     * Runs the probe.
     *
     * @param renderer name of the driver, for the message
     */
    static SelfCheck of(Session session, String renderer) {
        SelfCheck check = new SelfCheck(renderer);
        session.uploadProbe();
        for (Probe.Entry entry : session.bundle.manifest.probe.layers) {
            session.drawLayer(entry.layer);
            check.layers.add(compare(session, entry));
        }
        if (check.wrongLayer() == null) {
            check.wholeFrame(session);
        }
        return check;
    }

    /** Returns the first layer whose error exceeds its tolerance; null if there is none. */
    public LayerError wrongLayer() {
        for (LayerError error : layers) {
            if (!error.passed()) {
                return error;
            }
        }
        return null;
    }

    /** Returns the name of the first wrong layer or output; null if all are correct. */
    public String wrong() {
        LayerError layer = wrongLayer();
        if (layer != null) {
            return layer.layer;
        }
        OutputError output = wrongOutput();
        return output == null ? null : "output '" + output.output + "' of a whole frame";
    }

    private OutputError wrongOutput() {
        for (OutputError error : outputs) {
            if (!error.passed()) {
                return error;
            }
        }
        return null;
    }

    /**
     * Returns the errors of all layers, or throws a {@link Errors.SelfCheckError} with the first wrong layer or output.
     */
    List<LayerError> require() {
        LayerError layer = wrongLayer();
        if (layer != null) {
            throw new Errors.SelfCheckError(
                    "layer '"
                            + layer.layer
                            + "' comes out wrong on this driver ("
                            + renderer
                            + "): off by up to "
                            + layer.maxError
                            + " ("
                            + layer.mean
                            + " in the mean), where "
                            + layer.allowedMax
                            + " ("
                            + layer.allowedMean
                            + " in the mean) is tolerated; please report it with the device's name");
        }
        OutputError output = wrongOutput();
        if (output != null) {
            throw new Errors.SelfCheckError(
                    "every layer comes out right, but output '" + output.output + "' of a whole frame is off by "
                            + output.error + ", where " + output.allowed
                            + " is tolerated; please report it with the device's name");
        }
        return layers;
    }

    /** Compares a layer's textures with the probe, directly after its passes, because later layers can share them. */
    private static LayerError compare(Session session, Probe.Entry entry) {
        Map<String, ByteBuffer> texels = new HashMap<String, ByteBuffer>();
        Map<String, Integer> widths = new HashMap<String, Integer>();
        for (String name : entry.value.textures()) {
            texels.put(name, session.readTexture(name));
            widths.put(name, session.widthOf(name));
        }
        return Probe.compare(entry, session.bundle.member(session.bundle.manifest.probe.member), texels, widths);
    }

    /**
     * Draws a frame and compares all outputs before host steps, because a frame replays other calls than single layers.
     * A vector is compared with the probe's numbers, other values with the results of the layers.
     */
    private void wholeFrame(Session session) {
        Manifest manifest = session.bundle.manifest;
        List<List<HostStep.Array>> before = new ArrayList<List<HostStep.Array>>();
        for (int i = 0; i < manifest.outputs.size(); i++) {
            boolean numbers = manifest.probe.outputs.get(i).numbers.length > 0;
            before.add(numbers ? null : session.readValues(manifest.outputs.get(i)));
        }
        session.uploadProbe();
        session.drawFrame();
        for (int i = 0; i < manifest.outputs.size(); i++) {
            Output output = manifest.outputs.get(i);
            Probe.Numbers expected = manifest.probe.outputs.get(i);
            List<HostStep.Array> after = session.readValues(output);
            double off = 0;
            for (int k = 0; k < after.size(); k++) {
                double[] expectedNumbers = before.get(i) == null ? expected.numbers : before.get(i).get(k).data;
                off = Math.max(off, difference(after.get(k).data, expectedNumbers));
            }
            outputs.add(new OutputError(output.name, off, expected.maxError));
        }
    }

    private static double difference(double[] drawn, double[] expectedNumbers) {
        double off = 0;
        for (int i = 0; i < drawn.length; i++) {
            off = Math.max(off, Math.abs(drawn[i] - expectedNumbers[i]));
        }
        return off;
    }
}
