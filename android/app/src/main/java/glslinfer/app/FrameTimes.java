package glslinfer.app;

import glslinfer.runner.Gl;
import glslinfer.runner.Session;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Times of frames with the probe's image, for each step as in glsl-infer benchmark. */
final class FrameTimes {
    private static final String[] STEPS = {"upload", "submit", "gpu", "read_back", "total"};

    /** Milliseconds for each of {@link #STEPS}. */
    private final List<List<Double>> times = new ArrayList<List<Double>>();

    FrameTimes() {
        for (String step : STEPS) {
            times.add(new ArrayList<Double>());
        }
    }

    /** Runs a frame and stores its times. */
    void add(Session session, Gl gl) {
        long start = System.nanoTime();
        session.uploadProbe();
        long uploaded = System.nanoTime();
        session.drawFrame();
        long submitted = System.nanoTime();
        gl.glFinish();
        long drawn = System.nanoTime();
        session.readOutputs();
        long read = System.nanoTime();
        long[] nanoseconds = {
            uploaded - start, submitted - uploaded, drawn - uploaded, read - drawn, read - start,
        };
        for (int i = 0; i < nanoseconds.length; i++) {
            times.get(i).add(nanoseconds[i] / 1e6);
        }
    }

    /** Returns the number of frames. */
    int count() {
        return times.get(0).size();
    }

    /** Returns the milliseconds of the last frame. */
    double last() {
        List<Double> total = times.get(STEPS.length - 1);
        return total.get(total.size() - 1);
    }

    /** Returns a summary for each step. */
    Map<String, Object> summaries() {
        Map<String, Object> summaries = new LinkedHashMap<String, Object>();
        for (int i = 0; i < STEPS.length; i++) {
            summaries.put(STEPS[i], summary(times.get(i)));
        }
        return summaries;
    }

    /** Returns median, 5 % and 95 % quantiles of at least one value, interpolated. */
    static Map<String, Object> summary(List<Double> values) {
        List<Double> sorted = new ArrayList<Double>(values);
        Collections.sort(sorted);
        Map<String, Object> summary = new LinkedHashMap<String, Object>();
        summary.put("median", percentile(sorted, 0.5));
        summary.put("p5", percentile(sorted, 0.05));
        summary.put("p95", percentile(sorted, 0.95));
        return summary;
    }

    private static double percentile(List<Double> sorted, double fraction) {
        double position = fraction * (sorted.size() - 1);
        int low = (int) position;
        int high = Math.min(low + 1, sorted.size() - 1);
        double value = sorted.get(low) + (position - low) * (sorted.get(high) - sorted.get(low));
        return Math.round(1000 * value) / 1000.0;
    }
}
