package glslinfer.runner;

import java.util.Arrays;

/**
 * Spreads a network over several screen frames: each has the jobs that fit a budget, so that a preview stays smooth.
 *
 * <p>OpenGL ES 2.0 has no GPU timer. Therefore some frames wait for the driver after each job to measure its time. The
 * other frames submit jobs without waiting, and stop by the measured times. A job is not divided: at its end, a change
 * of render target, a tile-based GPU writes its tiles back anyway.
 *
 * <pre>
 *   if (!pace.running()) { ... draw the picture; pace.begin(); }
 *   session.activate();
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
     * @param gl calls of the session's context
     * @param budget milliseconds of GPU time for the jobs of a step; a single job can exceed it
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
        Arrays.fill(costs, budget); // one job in each step until measured
        next = costs.length;
    }

    /** Returns whether a frame has started and has remaining jobs. */
    public boolean running() {
        return next < costs.length;
    }

    /** Starts a frame, after its image was drawn. */
    public void begin() {
        next = 0;
        steps = 0;
        frame++;
    }

    /** Draws at least one job, and more within the budget; returns whether the frame is complete. */
    public boolean step() {
        boolean measure = frame <= WARM_UP || frame % MEASURE_EVERY == 0;
        double spent = 0;
        steps++;
        if (measure) {
            gl.glFinish(); // excludes earlier GPU work
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

    /** Returns the total time of all jobs in milliseconds, as last measured. */
    public double milliseconds() {
        double sum = 0;
        for (double cost : costs) {
            sum += cost;
        }
        return sum;
    }

    /** Returns the number of steps of the last frame. */
    public int steps() {
        return stepsBefore;
    }
}
