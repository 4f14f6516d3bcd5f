package glslinfer.app;

import android.app.Activity;
import android.net.Uri;
import glslinfer.runner.Bundle;
import glslinfer.runner.Errors;

/** Reads one model at a time in the background; after several choices, only the last is used. */
final class ModelLoader {
    /** Receives the outcome on the main thread. */
    interface Listener {
        void onModelRead(Bundle bundle);

        void onTaskRead(TaskFiles files);

        void onModelFailed(String message);
    }

    private final Activity activity;
    private final Models models;
    private final Listener listener;
    private final LatestRead latest;

    ModelLoader(Activity activity, Models models, Listener listener) {
        this.activity = activity;
        this.models = models;
        this.listener = listener;
        latest = new LatestRead(activity, "model");
    }

    /** Starts to read a model in the app, or the file {@code uri} if {@code name} is null. */
    void load(final String name, final Uri uri) {
        latest.start(
                new LatestRead.Reading() {
                    @Override
                    public Runnable read() {
                        try {
                            return told(
                                    name != null ? models.read(name) : models.read(activity.getContentResolver(), uri),
                                    null);
                        } catch (Errors.GlslInferError error) {
                            return told(null, error.getMessage());
                        }
                    }
                });
    }

    /** Starts to read a task in the app. */
    void loadTask(final String name) {
        latest.start(
                new LatestRead.Reading() {
                    @Override
                    public Runnable read() {
                        try {
                            final TaskFiles files = new TaskFiles(models, name);
                            return new Runnable() {
                                @Override
                                public void run() {
                                    listener.onTaskRead(files);
                                }
                            };
                        } catch (Errors.GlslInferError error) {
                            return told(null, error.getMessage());
                        }
                    }
                });
    }

    private Runnable told(final Bundle bundle, final String message) {
        return new Runnable() {
            @Override
            public void run() {
                if (bundle != null) {
                    listener.onModelRead(bundle);
                } else {
                    listener.onModelFailed(message);
                }
            }
        };
    }
}
