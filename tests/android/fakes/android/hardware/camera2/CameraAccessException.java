package android.hardware.camera2;

/** Checked exception of camera methods, as the real class. */
public class CameraAccessException extends Exception {
    private static final long serialVersionUID = 1L;
}
