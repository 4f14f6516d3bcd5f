package glslinfer.app;

import android.app.Activity;
import android.net.Uri;
import glslinfer.runner.Bundle;
import glslinfer.runner.Errors;

/** Reads one model at a time, not in the main thread; of several choices in a row the last one counts. */
final class ModelLoader {
    /** Told, in the main thread, how it went. */
    interface Listener {
        void onModelRead(Bundle bundle);

        void onModelFailed(String message);
    }

    private final Activity activity;
    private final Models models;
    private final Listener listener;

    /** Counts choices, so that a model read late does not replace a later one. */
    private int choice;

    ModelLoader(Activity activity, Models models, Listener listener) {
        this.activity = activity;
        this.models = models;
        this.listener = listener;
    }

    /** Begins to read a model inside the app, or where {@code name} is null one that the user chose. */
    void load(final String name, final Uri uri) {
        final int mine = ++choice;
        Runnable read =
                new Runnable() {
                    @Override
                    public void run() {
                        try {
                            Bundle bundle =
                                    name != null ? models.read(name) : models.read(activity.getContentResolver(), uri);
                            tell(mine, bundle, null);
                        } catch (Errors.GlslInferError error) {
                            tell(mine, null, error.getMessage());
                        }
                    }
                };
        new Thread(read, "model").start();
    }

    private void tell(final int mine, final Bundle bundle, final String message) {
        activity.runOnUiThread(
                new Runnable() {
                    @Override
                    public void run() {
                        if (mine != choice) {
                            return;
                        }
                        if (bundle != null) {
                            listener.onModelRead(bundle);
                        } else {
                            listener.onModelFailed(message);
                        }
                    }
                });
    }
}
