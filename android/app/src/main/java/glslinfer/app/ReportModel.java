package glslinfer.app;

import glslinfer.runner.Bundle;
import glslinfer.runner.Device;
import glslinfer.runner.Errors;
import glslinfer.runner.Gl;
import glslinfer.runner.Probe;
import glslinfer.runner.SelfCheck;
import glslinfer.runner.Session;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A model of a report: its start, its self-check, its frames. Each call occupies the GL thread for a moment. */
final class ReportModel {
    /** Numbers of warm-up frames and of measured frames. */
    private static final int WARM_UP = 10;

    private static final int RUNS = 30;

    /** Time in milliseconds after which a slow model has no further frames, except for a minimum. */
    private static final double MAX_MS = 60_000;

    private static final int MIN_RUNS = 3;

    private final Map<String, Object> entry = new LinkedHashMap<String, Object>();
    private final Gl gl;
    private final byte[] file;
    private final String name;
    private Session session;
    private Bundle bundle;
    private final Map<String, Object> start = new LinkedHashMap<String, Object>();
    private final FrameTimes frames = new FrameTimes();
    private int warmUpCount;
    private double spentMs;
    private double stageStartMs;

    ReportModel(String path, byte[] file, Gl gl) {
        this.file = file;
        this.gl = gl;
        name = name(path);
        entry.put("model", name);
        entry.put("sha256", sha256(file));
        entry.put("selfcheck", Collections.singletonMap("failed", "not run"));
        entry.put("benchmark", Collections.singletonMap("failed", "not run"));
        entry.put("counters", Collections.emptyMap());
    }

    /** Returns the name of a bundle in reports: the file's name without folder and suffix. */
    static String name(String path) {
        return path.substring(path.lastIndexOf('/') + 1, path.lastIndexOf('.'));
    }

    /** Returns the current results in a report's format. */
    Map<String, Object> entry() {
        return entry;
    }

    /** Loads and compiles the model, draws the first frame, and checks all layers. */
    void begin(Device device) {
        double beginMs = System.nanoTime() / 1e6;
        stageStartMs = beginMs;
        try {
            bundle = Bundle.read(new ByteArrayInputStream(file), name);
        } catch (IOException error) {
            throw new Errors.InputError(name + ": cannot be read (" + error.getMessage() + ")");
        }
        endStage("bundle");
        session = new Session(device, bundle);
        endStage("programs");
        session.uploadProbe();
        session.drawFrame();
        session.readOutputs();
        endStage("first_run");
        start.put("total", rounded(stageStartMs - beginMs));
        SelfCheck check = session.examine();
        entry.put("selfcheck", reportOf(check));
    }

    private void endStage(String stage) {
        double now = System.nanoTime() / 1e6;
        start.put(stage, rounded(now - stageStartMs));
        stageStartMs = now;
    }

    private static double rounded(double milliseconds) {
        return Math.round(1000 * milliseconds) / 1000.0;
    }

    private static Map<String, Object> reportOf(SelfCheck check) {
        List<Object> wrong = new ArrayList<Object>();
        for (Probe.LayerError layer : check.layers) {
            if (!layer.passed()) {
                Map<String, Object> entry = new LinkedHashMap<String, Object>();
                entry.put("layer", layer.layer);
                entry.put("passed", false);
                entry.put("max_error", layer.worst);
                entry.put("max_allowed", layer.mostWorst);
                entry.put("mean_error", layer.mean);
                entry.put("mean_allowed", layer.mostMean);
                entry.put("texels", layer.texels);
                wrong.add(entry);
            }
        }
        List<Object> outputs = new ArrayList<Object>();
        for (SelfCheck.OutputError output : check.outputs) {
            Map<String, Object> entry = new LinkedHashMap<String, Object>();
            entry.put("output", output.output);
            entry.put("error", output.error);
            entry.put("allowed", output.allowed);
            outputs.add(entry);
        }
        Map<String, Object> report = new LinkedHashMap<String, Object>();
        report.put("passed", check.wrong() == null);
        report.put("wrong", check.wrong());
        report.put("layers", wrong);
        report.put("whole_frame", outputs);
        report.put("stopped", null);
        report.put("advice", Collections.emptyList());
        return report;
    }

    /** Runs a frame; returns whether it was the last. */
    boolean frame() {
        if (warmUpCount < WARM_UP && spentMs < MAX_MS / 2) {
            FrameTimes times = new FrameTimes();
            times.add(session, gl);
            spentMs += times.last();
            warmUpCount += 1;
            return false;
        }
        frames.add(session, gl);
        spentMs += frames.last();
        boolean last = frames.count() >= RUNS || (spentMs > MAX_MS && frames.count() >= MIN_RUNS);
        if (last) {
            entry.put("benchmark", benchmark());
        }
        return last;
    }

    private Map<String, Object> benchmark() {
        Map<String, Object> settings = new LinkedHashMap<String, Object>();
        settings.put("warm_up", warmUpCount);
        settings.put("runs", frames.count());
        settings.put("cache", false);
        Map<String, Object> counts = new LinkedHashMap<String, Object>();
        counts.put("draws", bundle.passes.size());
        counts.put("jobs", session.jobs());
        counts.put("programs", bundle.manifest.programs.size());
        counts.put("gl_calls", Collections.singletonMap("frame", session.callsPerFrame()));
        Map<String, Object> report = new LinkedHashMap<String, Object>();
        report.put("settings", settings);
        report.put("start_ms", start);
        report.put("frame_ms", frames.summaries());
        report.put("counts", counts);
        return report;
    }

    /** Ends with an error: steps without a result have failed. */
    void fail(String message) {
        if (!entry.get("selfcheck").toString().contains("passed")) {
            entry.put("selfcheck", Collections.singletonMap("failed", message));
        }
        entry.put("benchmark", Collections.singletonMap("failed", message));
    }

    Session session() {
        return session;
    }

    void close() {
        if (session != null) {
            session.close();
            session = null;
        }
    }

    private static String sha256(byte[] file) {
        try {
            StringBuilder digits = new StringBuilder();
            for (byte octet : MessageDigest.getInstance("SHA-256").digest(file)) {
                digits.append(String.format("%02x", octet & 255));
            }
            return digits.toString();
        } catch (NoSuchAlgorithmException error) {
            throw new AssertionError(error); // every Android has it
        }
    }
}
