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
        for (Manifest.Layer layer : manifest.layers) {
            if (manifest.probe.of(layer.name) != null) {
                session.drawLayer(layer.name);
                LayerError error = compare(session, layer);
                if (!error.passed()) {
                    throw new Errors.SelfCheckError(
                            "layer '"
                                    + layer.name
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
        }
        wholeFrame(session, session.readLayer(manifest.outputLayer));
        return errors;
    }

    /** Compares a layer's textures with the probe, directly after its passes: later layers may share them. */
    private static LayerError compare(Session session, Manifest.Layer layer) {
        Map<String, ByteBuffer> texels = new HashMap<String, ByteBuffer>();
        Map<String, Integer> widths = new HashMap<String, Integer>();
        for (String name : layer.output.textures()) {
            texels.put(name, session.readTexture(name));
            widths.put(name, session.widthOf(name));
        }
        Manifest manifest = session.bundle.manifest;
        return Probe.compare(manifest, session.bundle.member(manifest.probe.member), layer.name, texels, widths);
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
