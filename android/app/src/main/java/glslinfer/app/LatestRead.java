package glslinfer.app;

import android.app.Activity;

/** Reads one thing at a time, not in the main thread; of several in a row the last one counts. */
final class LatestRead {
    /** What takes its time. */
    interface Reading {
        /** Reads; returns what to do with the result in the main thread. */
        Runnable read();
    }

    private final Activity activity;
    private final String thread;

    /** Counts readings, so that what is read late does not replace what was asked for later. */
    private int count;

    LatestRead(Activity activity, String thread) {
        this.activity = activity;
        this.thread = thread;
    }

    /** Begins to read, in a thread of its own. */
    void start(final Reading reading) {
        final int mine = ++count;
        Runnable read =
                new Runnable() {
                    @Override
                    public void run() {
                        tell(mine, reading.read());
                    }
                };
        new Thread(read, thread).start();
    }

    private void tell(final int mine, final Runnable result) {
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
