package glslinfer.runner;

import glslinfer.runner.Probe.LayerError;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Whether a driver computes what it should: the probe, layer by layer and then as a whole frame. */
final class SelfCheck {
    private SelfCheck() {}

    /**
     * Returns every layer's error, in the order of the probe.
     *
     * @param renderer the driver, for the message
     * @throws Errors.SelfCheckError naming the first layer or output that is further off than its tolerance
     */
    static List<LayerError> check(Session session, String renderer) {
        Manifest manifest = session.bundle.manifest;
        session.uploadProbe();
        List<LayerError> errors = new ArrayList<LayerError>();
        for (Probe.Entry entry : manifest.probe.layers) {
            session.drawLayer(entry.layer);
            LayerError error = compare(session, entry);
            if (!error.passed()) {
                throw new Errors.SelfCheckError(
                        "layer '"
                                + entry.layer
                                + "' comes out wrong on this driver ("
                                + renderer
                                + "): off by up to "
                                + error.worst
                                + " ("
                                + error.mean
                                + " in the mean), where "
                                + entry.maxError
                                + " ("
                                + entry.meanError
                                + " in the mean) is tolerated; please report it with the device's name");
            }
            errors.add(error);
        }
        wholeFrame(session);
        return errors;
    }

    /** Compares a layer's textures with the probe, directly after its passes: later layers may share them. */
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
     * Draws a frame and compares what it leaves of every output, before host steps: a frame replays other calls than
     * layer by layer. A vector is compared with the probe's numbers, any other with what the layers left.
     */
    private static void wholeFrame(Session session) {
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
                double[] wanted = before.get(i) == null ? expected.numbers : before.get(i).get(k).data;
                off = Math.max(off, difference(after.get(k).data, wanted));
            }
            if (!(off <= expected.maxError)) {
                throw new Errors.SelfCheckError(
                        "every layer comes out right, but output '" + output.name + "' of a whole frame is off by "
                                + off + ", where " + expected.maxError
                                + " is tolerated; please report it with the device's name");
            }
        }
    }

    private static double difference(double[] given, double[] wanted) {
        double off = 0;
        for (int i = 0; i < given.length; i++) {
            off = Math.max(off, Math.abs(given[i] - wanted[i]));
        }
        return off;
    }
}
