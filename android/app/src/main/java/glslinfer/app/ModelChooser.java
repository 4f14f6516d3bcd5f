package glslinfer.app;

import android.app.Activity;
import android.app.AlertDialog;
import android.content.ActivityNotFoundException;
import android.content.DialogInterface;
import android.content.Intent;
import android.net.Uri;
import java.util.ArrayList;
import java.util.List;

/** The list of models, and the system's file picker for models. */
final class ModelChooser {
    /** Receives the user's choice. */
    interface Listener {
        /** A model or task in the app; {@link #file} returns a file. */
        void onModelChosen(String name);

        /** The AI Benchmark. */
        void onBenchmark();

        /** A report about this device. */
        void onReport();

        /** The device has no app for selecting files. */
        void onNoFiles();
    }

    private static final int OPEN_FILE = 2;
    private static final String REPORT = "Report on this device";
    private static final String BENCHMARK = "AI Benchmark";

    private final Activity activity;
    private final Listener listener;

    ModelChooser(Activity activity, Listener listener) {
        this.activity = activity;
        this.listener = listener;
    }

    /** Shows the app's models and tasks, a file, the report, and the benchmark if the app includes it. */
    void show(List<String> models, List<String> tasks, boolean benchmark) {
        final List<String> names = new ArrayList<String>(models);
        names.addAll(tasks);
        List<String> all = new ArrayList<String>(models);
        for (String task : tasks) {
            all.add(Models.title(task));
        }
        all.add("Open a file ...");
        all.add(REPORT);
        if (benchmark) {
            all.add(BENCHMARK);
        }
        String[] items = all.toArray(new String[all.size()]);
        new AlertDialog.Builder(activity)
                .setTitle(tasks.isEmpty() ? "Model" : "What to look for")
                .setItems(
                        items,
                        new DialogInterface.OnClickListener() {
                            @Override
                            public void onClick(DialogInterface dialog, int which) {
                                if (which < names.size()) {
                                    listener.onModelChosen(names.get(which));
                                } else if (which == names.size()) {
                                    openFile();
                                } else if (which == names.size() + 1) {
                                    listener.onReport();
                                } else {
                                    listener.onBenchmark();
                                }
                            }
                        })
                .show();
    }

    private void openFile() {
        Intent intent = new Intent(Intent.ACTION_OPEN_DOCUMENT);
        intent.addCategory(Intent.CATEGORY_OPENABLE);
        intent.setType("*/*"); // these files have no registered type
        try {
            activity.startActivityForResult(intent, OPEN_FILE);
        } catch (ActivityNotFoundException error) {
            listener.onNoFiles();
        }
    }

    /** Returns the file in the activity's result; null if it has none. */
    static Uri file(int code, int result, Intent data) {
        return code == OPEN_FILE && result == Activity.RESULT_OK && data != null ? data.getData() : null;
    }
}
