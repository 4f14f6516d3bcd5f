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
     * Returns every layer's error.
     *
     * @param renderer the driver, for the message
     * @throws Errors.SelfCheckError naming the first layer that is further off than its tolerance
     */
    static List<LayerError> check(Session session, String renderer) {
        Manifest manifest = session.bundle.manifest;
        session.upload(Probe.picture(manifest.input.size));
        List<LayerError> errors = new ArrayList<LayerError>();
        for (String layer : manifest.layers) {
            session.drawLayer(layer);
            LayerError error = compare(session, manifest.probe.of(layer));
            if (!error.passed()) {
                throw new Errors.SelfCheckError(
                        "layer '"
                                + layer
                                + "' comes out wrong on this driver ("
                                + renderer
                                + "): off by up to "
                                + error.worst
                                + " ("
                                + error.mean
                                + " in the mean), where "
                                + error.allowed.maxError
                                + " ("
                                + error.allowed.meanError
                                + " in the mean) is tolerated; please report it with the device's name");
            }
            errors.add(error);
        }
        wholeFrame(session, session.readOutput());
        return errors;
    }

    /** Compares a layer's textures with the probe, directly after its passes: later layers may share them. */
    private static LayerError compare(Session session, Probe.Entry entry) {
        Map<String, ByteBuffer> texels = new HashMap<String, ByteBuffer>();
        Map<String, Integer> widths = new HashMap<String, Integer>();
        for (String name : entry.value.textures()) {
            texels.put(name, session.texels(name));
            widths.put(name, session.widthOf(name));
        }
        return Probe.compare(entry, session.bundle.member(session.bundle.manifest.probe.member), texels, widths);
    }

    /** A frame replays other calls than layer by layer, so its result is checked once more. */
    private static void wholeFrame(Session session, float[] layerByLayer) {
        Manifest manifest = session.bundle.manifest;
        float[] whole = session.run(Probe.picture(manifest.input.size));
        double off = 0;
        for (int i = 0; i < whole.length; i++) {
            double expected = manifest.classes() > 0 ? manifest.probe.logits[i] : layerByLayer[i];
            off = Math.max(off, Math.abs(whole[i] - expected));
        }
        if (!(off <= manifest.probe.maxError)) {
            throw new Errors.SelfCheckError(
                    "every layer comes out right, but the output of a whole frame is off by "
                            + off
                            + ", where "
                            + manifest.probe.maxError
                            + " is tolerated; please report it with the device's name");
        }
    }
}
