package glslinfer.app;

import glslinfer.runner.Gl;
import glslinfer.runner.Session;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Frames without a pause for minutes, as in glsl-infer benchmark --minutes: the speed of a warm device. */
final class Sustained {
    /** Largest number of equal time windows; each has at least a second. */
    private static final int WINDOWS = 120;

    private final double minutes;
    private final int count;
    private final long begun = System.nanoTime();
    private final List<Double> all = new ArrayList<Double>();
    private final Map<Integer, List<Double>> windows = new LinkedHashMap<Integer, List<Double>>();

    Sustained(double minutes) {
        this.minutes = minutes;
        count = (int) Math.max(1, Math.min(WINDOWS, 60 * minutes));
    }

    /** Runs a frame; returns whether the time is over. */
    boolean frame(Session session, Gl gl) {
        int window = (int) Math.min(count - 1, share() * count);
        FrameTimes times = new FrameTimes();
        times.add(session, gl);
        if (!windows.containsKey(window)) {
            windows.put(window, new ArrayList<Double>());
        }
        windows.get(window).add(times.last());
        all.add(times.last());
        return share() >= 1;
    }

    /** Returns the elapsed share of the time. */
    double share() {
        return (System.nanoTime() - begun) / 1e9 / (60 * minutes);
    }

    /** Returns the results in a report's format. */
    Map<String, Object> data(String model) {
        List<Object> stretches = new ArrayList<Object>();
        List<Double> medians = new ArrayList<Double>();
        for (Map.Entry<Integer, List<Double>> entry : windows.entrySet()) {
            Map<String, Object> stretch = new LinkedHashMap<String, Object>();
            stretch.put("from_s", Math.round(6e4 * minutes * entry.getKey() / count) / 1000.0);
            stretch.put("runs", entry.getValue().size());
            stretch.put("ms", FrameTimes.summary(entry.getValue()));
            stretches.add(stretch);
            medians.add((Double) FrameTimes.summary(entry.getValue()).get("median"));
        }
        int ends = Math.max(1, Math.round(medians.size() / 10f));
        double first = (Double) FrameTimes.summary(medians.subList(0, ends)).get("median");
        double last = (Double) FrameTimes.summary(medians.subList(medians.size() - ends, medians.size())).get("median");
        Map<String, Object> data = new LinkedHashMap<String, Object>();
        data.put("model", model);
        data.put("minutes", minutes);
        data.put("runs", all.size());
        data.put("ms", FrameTimes.summary(all));
        data.put("windows", stretches);
        data.put("slowdown", last / Math.max(1e-3, first));
        return data;
    }
}
