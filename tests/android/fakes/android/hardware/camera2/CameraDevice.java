package android.hardware.camera2;

import android.os.Handler;
import android.view.Surface;
import glslinfer.fake.Phone;
import java.util.List;

/** Fake open camera: keeps its surface and request for the {@link Phone}, which posts its frames. */
public class CameraDevice {
    public static class StateCallback {
        public void onOpened(CameraDevice device) {}

        public void onDisconnected(CameraDevice device) {}

        public void onError(CameraDevice device, int error) {}
    }

    public final String id;
    public final StateCallback callback;
    public boolean closed;
    public Surface surface;
    public CaptureRequest request;

    CameraDevice(String id, StateCallback callback) {
        this.id = id;
        this.callback = callback;
    }

    public CaptureRequest.Builder createCaptureRequest(int template) throws CameraAccessException {
        return new CaptureRequest.Builder();
    }

    public void createCaptureSession(
            List<Surface> surfaces, CameraCaptureSession.StateCallback configuring, Handler handler)
            throws CameraAccessException {
        surface = surfaces.get(0);
        Phone.post(() -> configuring.onConfigured(new CameraCaptureSession(this)));
    }

    public void close() {
        closed = true;
    }
}
