package android.hardware.camera2;

import android.os.Handler;

/** Fake session: keeps its repeating request in the {@link CameraDevice} and never calls back. */
public class CameraCaptureSession {
    public static class StateCallback {
        public void onConfigured(CameraCaptureSession session) {}

        public void onConfigureFailed(CameraCaptureSession session) {}
    }

    public static class CaptureCallback {}

    private final CameraDevice device;

    CameraCaptureSession(CameraDevice device) {
        this.device = device;
    }

    public int setRepeatingRequest(CaptureRequest request, CaptureCallback callback, Handler handler)
            throws CameraAccessException {
        if (device.closed) {
            throw new IllegalStateException("the device is closed");
        }
        device.request = request;
        return 1;
    }

    public void close() {
        device.request = null;
    }
}
