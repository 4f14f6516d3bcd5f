package glslinfer.app;

import android.app.Activity;

/** Reads one item at a time in the background; after several requests, only the last result is used. */
final class LatestRead {
    /** A slow operation. */
    interface Reading {
        /** Reads; returns the action for the main thread. */
        Runnable read();
    }

    private final Activity activity;
    private final String thread;

    /** Number of requests, by which outdated results are detected. */
    private int count;

    LatestRead(Activity activity, String thread) {
        this.activity = activity;
        this.thread = thread;
    }

    /** Starts to read in a new thread. */
    void start(final Reading reading) {
        final int mine = ++count;
        Runnable read =
                new Runnable() {
                    @Override
                    public void run() {
                        deliver(mine, reading.read());
                    }
                };
        new Thread(read, thread).start();
    }

    private void deliver(final int mine, final Runnable result) {
        activity.runOnUiThread(
                new Runnable() {
                    @Override
                    public void run() {
                        if (mine == count) {
                            result.run();
                        }
                    }
                });
    }
}
