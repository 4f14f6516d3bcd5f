package glslinfer.app;

import android.Manifest;
import android.app.Activity;
import android.content.pm.PackageManager;
import android.os.Build;

/** The permission to use the camera. */
final class CameraPermission {
    /** Code of a permission request and of its result. */
    static final int CODE = 1;

    private CameraPermission() {}

    static boolean isGranted(Activity activity) {
        // Before Android 6, the permission is granted on installation.
        return Build.VERSION.SDK_INT < Build.VERSION_CODES.M
                || activity.checkSelfPermission(Manifest.permission.CAMERA) == PackageManager.PERMISSION_GRANTED;
    }

    static void request(Activity activity) {
        activity.requestPermissions(new String[] {Manifest.permission.CAMERA}, CODE);
    }

    /** Requests the permission, if it is not granted. */
    static void requestIfMissing(Activity activity) {
        if (!isGranted(activity)) {
            request(activity);
        }
    }
}
