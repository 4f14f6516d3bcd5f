package glslinfer.runner;

import java.util.Arrays;

/**
 * A network over several frames of a screen: as many jobs at a time as fit a budget, so that a preview keeps moving.
 *
 * <p>OpenGL ES 2.0 has no clock on the GPU. So what each job takes is measured now and then, in frames where the driver
 * is made to finish after each; in between, jobs are only handed to it, and what they took then decides where to stop.
 * A job is never divided: a change of render target is what a tile-based GPU has to write back anyway.
 *
 * <pre>
 *   if (!pace.running()) { ... draw the picture; pace.begin(); }
 *   session.enter();
 *   if (pace.step()) { ... the result can be read when the next screen frame begins }
 * </pre>
 */
public final class Pace {
    private static final int WARM_UP = 2;
    private static final int MEASURE_EVERY = 64;

    private final Session session;
    private final Gl gl;
    private final double budget;
    private final double[] costs;
    private int next;
    private long frame;
    private int steps;
    private int stepsBefore;

    /**
     * @param gl of the session's context
     * @param budget milliseconds of the GPU that the jobs of one step may take; a single job may take longer
     * @throws Errors.InputError the budget is not above 0
     */
    public Pace(Session session, Gl gl, double budget) {
        if (!(budget > 0)) {
            throw new Errors.InputError("a budget of " + budget + " ms; give more than 0");
        }
        this.session = session;
        this.gl = gl;
        this.budget = budget;
        costs = new double[session.jobs()];
        Arrays.fill(costs, budget); // until measured, one at a time
        next = costs.length;
    }

    /** Returns whether a frame was begun and has jobs left. */
    public boolean running() {
        return next < costs.length;
    }

    /** Begins a frame: the picture has been drawn. */
    public void begin() {
        next = 0;
        steps = 0;
        frame++;
    }

    /** Draws jobs until the budget is spent, one at least; returns whether that was the last one of the frame. */
    public boolean step() {
        boolean measure = frame <= WARM_UP || frame % MEASURE_EVERY == 0;
        double spent = 0;
        steps++;
        if (measure) {
            gl.glFinish(); // so that what was handed over before is not counted
        }
        do {
            long start = System.nanoTime();
            session.drawJob(next);
            if (measure) {
                gl.glFinish();
                costs[next] = (System.nanoTime() - start) / 1e6;
            }
            spent += costs[next];
            next++;
        } while (next < costs.length && spent + (measure ? 0 : costs[next]) < budget);
        stepsBefore = running() ? stepsBefore : steps;
        return !running();
    }

    /** Returns what all jobs together took when they were last measured, in milliseconds. */
    public double milliseconds() {
        double sum = 0;
        for (double cost : costs) {
            sum += cost;
        }
        return sum;
    }

    /** Returns how many steps the last frame took. */
    public int steps() {
        return stepsBefore;
    }
}
