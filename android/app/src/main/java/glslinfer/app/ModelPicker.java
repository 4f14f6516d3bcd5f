package glslinfer.app;

import android.app.Activity;
import android.content.Intent;
import android.net.Uri;
import glslinfer.runner.Bundle;
import java.util.List;

/** Selection of a model or task in the app or in a file, its loading, and messages about it. */
final class ModelPicker implements ModelChooser.Listener, ModelLoader.Listener {
    /** Receives the model on the main thread. */
    interface Listener {
        void onModel(Bundle bundle);

        void onTask(TaskFiles files);
    }

    private final Activity activity;
    private final Models models;
    private final Messages messages;
    private final Listener listener;
    private final ModelChooser chooser;
    private final ModelLoader loader;
    private String name;

    ModelPicker(Activity activity, Models models, Messages messages, Listener listener) {
        this.activity = activity;
        this.models = models;
        this.messages = messages;
        this.listener = listener;
        chooser = new ModelChooser(activity, this);
        loader = new ModelLoader(activity, models, this);
    }

    /** Reads the requested model; the first one if the app does not have it. */
    void start(String asked) {
        List<String> names = models.names();
        names.addAll(models.tasks());
        if (names.isEmpty()) {
            messages.ofModel("There is no model in this app: open a *.glslnn file with the button below.");
        } else {
            onModelChosen(asked == null || !names.contains(asked) ? names.get(0) : asked);
        }
    }

    /** The name of the app's model selected last; null before that. */
    String name() {
        return name;
    }

    /** Shows the selection. */
    void choose() {
        chooser.show(models.names(), models.tasks(), !models.benchmark().isEmpty());
    }

    /** Starts to read the file in the activity's result, if it is for models. */
    void read(int code, int result, Intent data) {
        Uri file = ModelChooser.file(code, result, data);
        if (file != null) {
            load(null, file);
        }
    }

    @Override
    public void onModelChosen(String chosen) {
        name = chosen;
        if (models.names().contains(chosen)) {
            load(chosen, null);
        } else {
            messages.ofModel("Reading the model ...");
            loader.loadTask(chosen);
        }
    }

    @Override
    public void onBenchmark() {
        activity.startActivity(new Intent(activity, BenchmarkActivity.class));
    }

    @Override
    public void onReport() {
        activity.startActivity(new Intent(activity, ReportActivity.class));
    }

    @Override
    public void onNoFiles() {
        messages.ofModel("This device has no app to choose files with.");
    }

    private void load(String chosen, Uri uri) {
        messages.ofModel("Reading the model ...");
        loader.load(chosen, uri);
    }

    @Override
    public void onModelRead(Bundle bundle) {
        listener.onModel(bundle);
    }

    @Override
    public void onTaskRead(TaskFiles files) {
        listener.onTask(files);
    }

    /** Sets the reason for a missing model, from any thread; "" if there is a model. */
    @Override
    public void onModelFailed(final String message) {
        activity.runOnUiThread(
                new Runnable() {
                    @Override
                    public void run() {
                        messages.ofModel(message);
                    }
                });
    }
}
