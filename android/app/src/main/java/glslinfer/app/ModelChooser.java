package glslinfer.app;

import android.app.Activity;
import android.app.AlertDialog;
import android.content.ActivityNotFoundException;
import android.content.DialogInterface;
import android.content.Intent;
import android.net.Uri;
import java.util.ArrayList;
import java.util.List;

/** The list of models, and the system's window for files of models. */
final class ModelChooser {
    /** Hears what was chosen. */
    interface Listener {
        /** A model or task inside the app; a file comes by {@link #file}. */
        void onModelChosen(String name);

        /** There is no app on this device that could show files. */
        void onNoFiles();
    }

    private static final int OPEN_FILE = 2;

    private final Activity activity;
    private final Listener listener;

    ModelChooser(Activity activity, Listener listener) {
        this.activity = activity;
        this.listener = listener;
    }

    /** Shows the models inside the app, its tasks, and the way to a file. */
    void show(List<String> models, List<String> tasks) {
        final List<String> names = new ArrayList<String>(models);
        names.addAll(tasks);
        String[] items = names.toArray(new String[names.size() + 1]);
        for (int i = models.size(); i < names.size(); i++) {
            items[i] = Models.title(names.get(i));
        }
        items[names.size()] = "Open a file ...";
        new AlertDialog.Builder(activity)
                .setTitle(tasks.isEmpty() ? "Model" : "What to look for")
                .setItems(
                        items,
                        new DialogInterface.OnClickListener() {
                            @Override
                            public void onClick(DialogInterface dialog, int which) {
                                if (which < names.size()) {
                                    listener.onModelChosen(names.get(which));
                                } else {
                                    openFile();
                                }
                            }
                        })
                .show();
    }

    private void openFile() {
        Intent intent = new Intent(Intent.ACTION_OPEN_DOCUMENT);
        intent.addCategory(Intent.CATEGORY_OPENABLE);
        intent.setType("*/*"); // no type is registered for these files
        try {
            activity.startActivityForResult(intent, OPEN_FILE);
        } catch (ActivityNotFoundException error) {
            listener.onNoFiles();
        }
    }

    /** Returns the file that the activity's result names, or null if it names none. */
    static Uri file(int code, int result, Intent data) {
        return code == OPEN_FILE && result == Activity.RESULT_OK && data != null ? data.getData() : null;
    }
}
