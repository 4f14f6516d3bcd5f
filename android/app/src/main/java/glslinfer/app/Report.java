package glslinfer.app;

import glslinfer.runner.Json;
import java.text.SimpleDateFormat;
import java.util.ArrayList;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TimeZone;

/** A report as data, in the format of {@code glsl-infer report} for scripts/docs/boards/add; shared by two threads. */
final class Report {
    private static final String FORMAT = "glsl-infer report";
    private static final int VERSION = 1;

    private final Map<String, Object> data;

    /** Creates a report; {@code version} is that of the app. */
    Report(String version) {
        SimpleDateFormat now = new SimpleDateFormat("yyyy-MM-dd'T'HH:mm:ss'+00:00'", Locale.ROOT);
        now.setTimeZone(TimeZone.getTimeZone("UTC"));
        data = new LinkedHashMap<String, Object>();
        data.put("format", FORMAT);
        data.put("version", VERSION);
        data.put("glsl_infer", version);
        data.put("measured", now.format(new Date()));
        data.put("note", "the Android app");
        data.put("machine", new LinkedHashMap<String, Object>());
        data.put("driver", new LinkedHashMap<String, Object>());
        data.put("models", new ArrayList<Object>());
        data.put("sustained", null);
    }

    private Report(Map<String, Object> data) {
        this.data = data;
    }

    /** Reads a report written by {@link #text}. */
    static Report read(String text) {
        try {
            return new Report(Report.<Map<String, Object>>cast(Json.parse(text.getBytes("UTF-8"), "report")));
        } catch (java.io.UnsupportedEncodingException error) {
            throw new AssertionError(error);
        }
    }

    synchronized String text() {
        return JsonText.of(data);
    }

    synchronized void put(String key, Object value) {
        data.put(key, value);
    }

    synchronized void putMachine(String key, Object value) {
        Report.<Map<String, Object>>cast(data.get("machine")).put(key, value);
    }

    /** Adds a model, or replaces the entry with its name, for example after a lost GL context. */
    synchronized void putModel(Map<String, Object> model) {
        List<Object> models = cast(data.get("models"));
        for (int i = 0; i < models.size(); i++) {
            if (model.get("model").equals(Report.<Map<String, Object>>cast(models.get(i)).get("model"))) {
                models.set(i, model);
                return;
            }
        }
        models.add(model);
    }

    /** Returns the driver's name; "" if it is unknown yet. */
    synchronized String renderer() {
        Object name = Report.<Map<String, Object>>cast(data.get("driver")).get("renderer");
        return name == null ? "" : name.toString();
    }

    synchronized String cpu() {
        Object name = Report.<Map<String, Object>>cast(data.get("machine")).get("cpu");
        return name == null ? "" : name.toString();
    }

    /** Returns the number of completed and failed models. */
    synchronized int count() {
        return Report.<List<Object>>cast(data.get("models")).size();
    }

    synchronized String name(int index) {
        return model(index).get("model").toString();
    }

    /** Returns whether all layers of a model are correct, and all its parts ran. */
    synchronized boolean right(int index) {
        return failure(index) == null && Boolean.TRUE.equals(part(index, "selfcheck").get("passed"));
    }

    /** Returns a short description of a model's self-check. */
    synchronized String verdict(int index) {
        if (failure(index) != null) {
            return failure(index);
        }
        return right(index) ? "every layer is right" : "wrong: " + part(index, "selfcheck").get("wrong");
    }

    private String failure(int index) {
        for (String part : new String[] {"selfcheck", "benchmark"}) {
            Object failed = part(index, part).get("failed");
            if (failed != null) {
                return failed.toString();
            }
        }
        return null;
    }

    /** Returns the median time of a model's frames in milliseconds; 0 without frames. */
    synchronized double frameMs(int index) {
        Object times = part(index, "benchmark").get("frame_ms");
        return times == null ? 0 : number(part(part(cast(times), "total"), "median"));
    }

    /** Returns the milliseconds from the file to the first result; 0 without one. */
    synchronized double startMs(int index) {
        Object times = part(index, "benchmark").get("start_ms");
        return times == null ? 0 : number(part(cast(times), "total"));
    }

    /** Returns whether a model with this name has times. */
    synchronized boolean ran(String name) {
        for (int i = 0; i < count(); i++) {
            if (name(i).equals(name)) {
                return frameMs(i) > 0;
            }
        }
        return false;
    }

    /** Returns the reason why the long run failed; "" if it did not. */
    synchronized String sustainedFailure() {
        Object run = data.get("sustained");
        Object failed = run == null ? null : part(cast(run), "failed");
        return failed == null ? "" : failed.toString();
    }

    /** Returns the time of the last tenth of a long run relative to that of its first; 0 without one. */
    synchronized double slowdown() {
        Object run = data.get("sustained");
        return run == null ? 0 : number(part(cast(run), "slowdown"));
    }

    private Map<String, Object> model(int index) {
        return cast(Report.<List<Object>>cast(data.get("models")).get(index));
    }

    private Map<String, Object> part(int index, String name) {
        return cast(model(index).get(name));
    }

    private static <T> T part(Map<String, Object> parent, String name) {
        return cast(parent.get(name));
    }

    private static double number(Object value) {
        return value instanceof Number ? ((Number) value).doubleValue() : 0;
    }

    @SuppressWarnings("unchecked") // created by this class or read strictly by the runner
    private static <T> T cast(Object value) {
        return (T) value;
    }
}
