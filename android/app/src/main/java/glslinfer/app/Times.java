package glslinfer.app;

import glslinfer.app.ResultsView.Stage;

/** Times of each stage of a frame, and rates of results and screen frames, as moving averages. */
final class Times {
    /** Weight of a new value in the average. */
    private static final double NEW_WEIGHT = 0.1;

    /** Milliseconds by {@link Stage}. */
    final double[] stages = new double[Stage.COUNT];

    private long lastResult;
    private long lastScreen;
    private double resultTime;
    private double screenTime;

    /** Adds the time of a stage. */
    void addStage(int stage, long nanoseconds) {
        double ms = nanoseconds / 1e6;
        stages[stage] = stages[stage] == 0 ? ms : (1 - NEW_WEIGHT) * stages[stage] + NEW_WEIGHT * ms;
    }

    /** Records the time of a result. */
    void addResult(long now) {
        resultTime = averaged(resultTime, lastResult == 0 ? 0 : now - lastResult);
        lastResult = now;
    }

    /** Records the time of a screen frame. */
    void addScreenFrame(long now) {
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

    double resultRate() {
        return rate(resultTime);
    }

    double screenRate() {
        return rate(screenTime);
    }

    private static double averaged(double before, double value) {
        return value == 0 ? before : before == 0 ? value : (1 - NEW_WEIGHT) * before + NEW_WEIGHT * value;
    }

    private static double rate(double nanoseconds) {
        return nanoseconds == 0 ? 0 : 1e9 / nanoseconds;
    }
}
