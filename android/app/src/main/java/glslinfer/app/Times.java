package glslinfer.app;

import glslinfer.app.ResultsView.Stage;

/** What each stage of a frame takes, and how often there are results and frames of the screen: running means. */
final class Times {
    /** How much of an average a new value is. */
    private static final double NEW = 0.1;

    /** Milliseconds, by {@link Stage}. */
    final double[] stages = new double[Stage.COUNT];

    private long lastResult;
    private long lastScreen;
    private double resultTime;
    private double screenTime;

    /** Takes how long a stage was. */
    void took(int stage, long nanoseconds) {
        stages[stage] = stages[stage] == 0 ? nanoseconds / 1e6 : (1 - NEW) * stages[stage] + NEW * nanoseconds / 1e6;
    }

    /** Takes that there is a result now. */
    void result(long now) {
        resultTime = averaged(resultTime, lastResult == 0 ? 0 : now - lastResult);
        lastResult = now;
    }

    /** Takes that a frame of the screen is drawn. */
    void screen(long now) {
        screenTime = averaged(screenTime, lastScreen == 0 ? 0 : now - lastScreen);
        lastScreen = now;
    }

    /** The next result is the first of another model. */
    void restartResults() {
        lastResult = 0;
    }

    /** What comes next is not measured from what was before. */
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
