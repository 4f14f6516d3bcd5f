package glslinfer.runner;

import glslinfer.runner.Program.Pass;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Recorded GL calls of a bundle: for each job of a frame, and for each layer. */
final class Recordings {
    final Calls frame;

    /** Jobs in the order of a frame. A job is the passes between two changes of render target. */
    final Calls[] jobs;

    private final Map<String, Calls> layers = new HashMap<String, Calls>();

    Recordings(Frame.Recorder recorder, List<Pass> passes) {
        frame = recorder.record(passes);
        jobs = jobs(recorder, passes);
        Map<String, List<Pass>> byLayer = new LinkedHashMap<String, List<Pass>>();
        for (Pass pass : passes) {
            if (!byLayer.containsKey(pass.layer)) {
                byLayer.put(pass.layer, new ArrayList<Pass>());
            }
            byLayer.get(pass.layer).add(pass);
        }
        for (Map.Entry<String, List<Pass>> entry : byLayer.entrySet()) {
            layers.put(entry.getKey(), recorder.record(entry.getValue()));
        }
    }

    /** Draws the passes of a layer; no effect if it has none. */
    void drawLayer(Gl gl, String layer) {
        Calls calls = layers.get(layer);
        if (calls != null) {
            calls.replay(gl);
        }
    }

    private static Calls[] jobs(Frame.Recorder recorder, List<Pass> passes) {
        List<Calls> calls = new ArrayList<Calls>();
        for (int start = 0; start < passes.size(); ) {
            int end = start + 1;
            while (end < passes.size() && !passes.get(end).clear) {
                end++;
            }
            calls.add(recorder.record(passes.subList(start, end)));
            start = end;
        }
        return calls.toArray(new Calls[0]);
    }
}
