package glslinfer.app;

import android.app.Activity;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/**
 * Name of the model being loaded, stored in a file of the app, so that it is known after a driver has crashed the app.
 */
final class Attempt {
    private final File file;

    Attempt(Activity activity) {
        file = new File(activity.getFilesDir(), "report-model");
    }

    void begin(String name) {
        try {
            OutputStream out = new FileOutputStream(file);
            try {
                out.write(name.getBytes("UTF-8"));
            } finally {
                out.close();
            }
        } catch (IOException error) {
            end(); // not essential for a report
        }
    }

    void end() {
        if (!file.delete() && file.exists()) {
            throw new IllegalStateException(file + " cannot be deleted");
        }
    }

    /** Returns and deletes the model during which the last report crashed; null if none did. */
    String last() {
        byte[] name = new byte[(int) file.length()];
        try {
            InputStream in = new FileInputStream(file);
            try {
                int count = in.read(name);
                return count < 1 ? null : new String(name, 0, count, "UTF-8");
            } finally {
                in.close();
                end();
            }
        } catch (IOException error) {
            return null;
        }
    }
}
