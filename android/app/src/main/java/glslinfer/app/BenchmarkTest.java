package glslinfer.app;

import android.graphics.Bitmap;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** A test of the AI Benchmark in the app, and its results; shared by two threads. */
final class BenchmarkTest {
    /** Warm-up images, excluded from the mean if there are more. */
    private static final int WARM_UP = 2;

    final String title;
    final String network;

    /** Name of its bundle and of its input image, without suffix. */
    final String file;

    /** Time limit in seconds. */
    final double limit;

    /** Time of a Pixel 2 in milliseconds. */
    final double reference;

    private final List<Double> times = new ArrayList<Double>();
    private Bitmap inputImage;
    private Bitmap outputImage;
    private String label = "";
    private double first;
    private String failed = "";

    private BenchmarkTest(List<String> heads, String[] cells) {
        title = cells[heads.indexOf("number")] + " " + cells[heads.indexOf("task")];
        network = cells[heads.indexOf("network")]
                + (cells[heads.indexOf("trained")].equals("yes") ? "" : ", untrained");
        file = cells[heads.indexOf("network")] + "-" + cells[heads.indexOf("width")] + "x"
                + cells[heads.indexOf("height")];
        limit = Double.parseDouble(cells[heads.indexOf("limit")]);
        reference = Double.parseDouble(cells[heads.indexOf("reference")]);
    }

    /** Returns the tests of a table (glsl_infer/tools/aibench/tests.csv) that are shown and whose files exist. */
    static List<BenchmarkTest> of(String table, List<String> files) {
        String[] lines = table.trim().split("\r?\n");
        List<String> heads = java.util.Arrays.asList(lines[0].split(","));
        List<BenchmarkTest> tests = new ArrayList<BenchmarkTest>();
        for (String line : java.util.Arrays.asList(lines).subList(1, lines.length)) {
            String[] cells = line.split(",", -1);
            if (cells[heads.indexOf("shown")].equals("yes")) {
                BenchmarkTest test = new BenchmarkTest(heads, cells);
                if (files.contains(test.file + ".glslnn") && files.contains(test.file + ".png")) {
                    tests.add(test);
                }
            }
        }
        return Collections.unmodifiableList(tests);
    }

    synchronized void setInputImage(Bitmap picture) {
        inputImage = picture;
    }

    /** Stores the result of the first image, an image or a label, and the milliseconds from the file to it. */
    synchronized void setFirst(Bitmap picture, String result, double milliseconds) {
        outputImage = picture;
        label = result;
        first = milliseconds;
        times.clear();
        times.add(milliseconds);
    }

    /** Adds the milliseconds of an image; returns the number of images. */
    synchronized int add(double milliseconds) {
        times.add(milliseconds);
        return times.size();
    }

    synchronized void fail(String message) {
        failed = message;
    }

    synchronized Bitmap inputImage() {
        return inputImage;
    }

    synchronized Bitmap outputImage() {
        return outputImage;
    }

    synchronized String label() {
        return label;
    }

    synchronized String failed() {
        return failed;
    }

    synchronized int pictures() {
        return times.size();
    }

    /** Returns the milliseconds until the first result; 0 before it. */
    synchronized double first() {
        return first;
    }

    /** Returns the mean without the first two, or without the first if there are no more; 0 before the second. */
    synchronized double mean() {
        int count = times.size();
        int from = Math.max(0, Math.min(WARM_UP, count - 1));
        double sum = 0;
        for (int i = from; i < count; i++) {
            sum += times.get(i);
        }
        return count < 2 ? 0 : sum / (count - from);
    }
}
