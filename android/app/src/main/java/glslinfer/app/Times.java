package glslinfer.app;

import glslinfer.app.ResultsView.Stage;

/** Times of each stage of a frame, and rates of results and screen frames, as moving averages. */
final class Times {
    /** Weight of a new value in the average. */
    private static final double NEW = 0.1;

    /** Milliseconds by {@link Stage}. */
    final double[] stages = new double[Stage.COUNT];

    private long lastResult;
    private long lastScreen;
    private double resultTime;
    private double screenTime;

    /** Adds the time of a stage. */
    void took(int stage, long nanoseconds) {
        stages[stage] = stages[stage] == 0 ? nanoseconds / 1e6 : (1 - NEW) * stages[stage] + NEW * nanoseconds / 1e6;
    }

    /** Records the time of a result. */
    void result(long now) {
        resultTime = averaged(resultTime, lastResult == 0 ? 0 : now - lastResult);
        lastResult = now;
    }

    /** Records the time of a screen frame. */
    void screen(long now) {
        screenTime = averaged(screenTime, lastScreen == 0 ? 0 : now - lastScreen);
        lastScreen = now;
    }

    /** Excludes the interval before the next result, the first of another model. */
    void restartResults() {
        lastResult = 0;
    }

    /** Excludes the interval before the next events. */
    void restart() {
        lastResult = 0;
        lastScreen = 0;
    }

    double results() {
        return rate(resultTime);
    }

    double screens() {
        return rate(screenTime);
    }

    private static double averaged(double before, double value) {
        return value == 0 ? before : before == 0 ? value : (1 - NEW) * before + NEW * value;
    }

    private static double rate(double nanoseconds) {
        return nanoseconds == 0 ? 0 : 1e9 / nanoseconds;
    }
}
