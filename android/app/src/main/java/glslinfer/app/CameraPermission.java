package glslinfer.app;

import android.Manifest;
import android.app.Activity;
import android.content.pm.PackageManager;
import android.os.Build;

/** Whether the app may use the camera. */
final class CameraPermission {
    /** The code of a request, which comes back with its answer. */
    static final int CODE = 1;

    private CameraPermission() {}

    static boolean given(Activity activity) {
        // Before Android 6 the permission was given when the app was installed.
        return Build.VERSION.SDK_INT < Build.VERSION_CODES.M
                || activity.checkSelfPermission(Manifest.permission.CAMERA) == PackageManager.PERMISSION_GRANTED;
    }

    static void ask(Activity activity) {
        activity.requestPermissions(new String[] {Manifest.permission.CAMERA}, CODE);
    }

    /** Asks, unless it was given. */
    static void askIfMissing(Activity activity) {
        if (!given(activity)) {
            ask(activity);
        }
    }
}
