package glslinfer.app;

import glslinfer.runner.Gl;
import glslinfer.runner.Session;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Frames without a pause for minutes, as in glsl-infer benchmark --minutes: the speed of a warm device. */
final class SustainedRun {
    /** The slowdown compares the first and the last of this many equal parts of the time. */
    private static final float PARTS = 10;

    /** Largest number of equal time windows; each has at least a second. */
    private static final int MAX_WINDOWS = 120;

    private final double minutes;
    private final int windowCount;
    private final long startNs = System.nanoTime();
    private final List<Double> allMs = new ArrayList<Double>();
    private final Map<Integer, List<Double>> windows = new LinkedHashMap<Integer, List<Double>>();

    SustainedRun(double minutes) {
        this.minutes = minutes;
        windowCount = (int) Math.max(1, Math.min(MAX_WINDOWS, 60 * minutes));
    }

    /** Runs a frame; returns whether the time is over. */
    boolean frame(Session session, Gl gl) {
        int window = (int) Math.min(windowCount - 1, elapsedShare() * windowCount);
        FrameTimes times = new FrameTimes();
        times.add(session, gl);
        if (!windows.containsKey(window)) {
            windows.put(window, new ArrayList<Double>());
        }
        windows.get(window).add(times.last());
        allMs.add(times.last());
        return elapsedShare() >= 1;
    }

    /** Returns the elapsed share of the time. */
    double elapsedShare() {
        return (System.nanoTime() - startNs) / 1e9 / (60 * minutes);
    }

    /** Returns the results in a report's format. */
    Map<String, Object> data(String model) {
        List<Object> reports = new ArrayList<Object>();
        List<Double> medians = new ArrayList<Double>();
        for (Map.Entry<Integer, List<Double>> entry : windows.entrySet()) {
            Map<String, Object> report = new LinkedHashMap<String, Object>();
            report.put("from_s", Math.round(6e4 * minutes * entry.getKey() / windowCount) / 1000.0);
            report.put("runs", entry.getValue().size());
            report.put("ms", FrameTimes.summary(entry.getValue()));
            reports.add(report);
            medians.add(median(entry.getValue()));
        }
        int endCount = Math.max(1, Math.round(medians.size() / PARTS));
        double first = median(medians.subList(0, endCount));
        double last = median(medians.subList(medians.size() - endCount, medians.size()));
        Map<String, Object> data = new LinkedHashMap<String, Object>();
        data.put("model", model);
        data.put("minutes", minutes);
        data.put("runs", allMs.size());
        data.put("ms", FrameTimes.summary(allMs));
        data.put("windows", reports);
        data.put("slowdown", last / Math.max(1e-3, first));
        return data;
    }

    private static double median(List<Double> values) {
        return (Double) FrameTimes.summary(values).get("median");
    }
}
