package glslinfer.app;

import android.content.Context;
import android.graphics.SurfaceTexture;
import android.hardware.camera2.CameraAccessException;
import android.hardware.camera2.CameraCaptureSession;
import android.hardware.camera2.CameraCharacteristics;
import android.hardware.camera2.CameraDevice;
import android.hardware.camera2.CameraManager;
import android.hardware.camera2.CaptureRequest;
import android.hardware.camera2.params.StreamConfigurationMap;
import android.os.Handler;
import android.util.Size;
import android.view.Surface;
import java.util.Collections;

/** Sends camera images to a SurfaceTexture, with camera2; runs on the main thread. */
final class CameraSource {
    /** Smallest number of pixels on the short side, for an acceptable quality on a screen. */
    private static final int SMALLEST_SIDE = 480;

    /** Receives the outcome of {@link #open}. */
    interface Listener {
        void onCamera(int width, int height, int sensorDegrees, boolean front, boolean torch);

        void onCameraFailed(String message);
    }

    private final CameraManager manager;
    private final Handler handler;
    private final Listener listener;
    private CameraDevice device;
    private CameraCaptureSession session;
    private CaptureRequest.Builder request;
    private Surface surface;

    /** Number of calls of open and close, by which outdated callbacks are detected. */
    private int generation;

    CameraSource(Context context, Handler handler, Listener listener) {
        manager = (CameraManager) context.getSystemService(Context.CAMERA_SERVICE);
        this.handler = handler;
        this.listener = listener;
    }

    /** Opens the camera on one side of the phone, or the only one; requires the permission. */
    void open(SurfaceTexture texture, boolean front, int size) {
        close();
        final int mine = generation;
        try {
            String id = find(front);
            if (id == null) {
                listener.onCameraFailed("this device has no camera");
                return;
            }
            CameraCharacteristics facts = manager.getCameraCharacteristics(id);
            Size chosen = choose(facts.get(CameraCharacteristics.SCALER_STREAM_CONFIGURATION_MAP), size);
            texture.setDefaultBufferSize(chosen.getWidth(), chosen.getHeight());
            surface = new Surface(texture);
            Integer facing = facts.get(CameraCharacteristics.LENS_FACING);
            Integer degrees = facts.get(CameraCharacteristics.SENSOR_ORIENTATION);
            boolean torch = Boolean.TRUE.equals(facts.get(CameraCharacteristics.FLASH_INFO_AVAILABLE));
            boolean isFront = facing != null && facing == CameraCharacteristics.LENS_FACING_FRONT;
            listener.onCamera(chosen.getWidth(), chosen.getHeight(), degrees == null ? 90 : degrees, isFront, torch);
            manager.openCamera(id, new Opening(mine), handler);
        } catch (CameraAccessException error) {
            listener.onCameraFailed("the camera cannot be opened: " + error.getMessage());
        } catch (SecurityException error) {
            listener.onCameraFailed("the camera may not be used: allow it in the system's settings");
        } catch (IllegalArgumentException error) { // the camera was disconnected, or lacks this stream
            listener.onCameraFailed("the camera cannot be used: " + error.getMessage());
        }
    }

    private String find(boolean front) throws CameraAccessException {
        String camera = null;
        int side = front ? CameraCharacteristics.LENS_FACING_FRONT : CameraCharacteristics.LENS_FACING_BACK;
        for (String id : manager.getCameraIdList()) {
            Integer facing = manager.getCameraCharacteristics(id).get(CameraCharacteristics.LENS_FACING);
            if (facing != null && facing == side) {
                return id;
            }
            camera = camera == null ? id : camera;
        }
        return camera;
    }

    /** Returns the smallest sufficient size for the network and the screen; otherwise the largest. */
    private static Size choose(StreamConfigurationMap map, int size) {
        Size[] sizes = map == null ? null : map.getOutputSizes(SurfaceTexture.class);
        if (sizes == null || sizes.length == 0) {
            return new Size(640, 480); // every camera2 device has it
        }
        int enough = Math.max(size, SMALLEST_SIDE);
        Size best = sizes[0];
        for (Size candidate : sizes) {
            boolean fits = Math.min(candidate.getWidth(), candidate.getHeight()) >= enough;
            boolean bestFits = Math.min(best.getWidth(), best.getHeight()) >= enough;
            boolean smaller = pixels(candidate) < pixels(best);
            if (fits ? !bestFits || smaller : !bestFits && !smaller) {
                best = candidate;
            }
        }
        return best;
    }

    private static long pixels(Size size) {
        return (long) size.getWidth() * size.getHeight();
    }

    /** Switches the light, if there is one. */
    void setTorch(boolean on) {
        if (session != null) {
            int mode = on ? CaptureRequest.FLASH_MODE_TORCH : CaptureRequest.FLASH_MODE_OFF;
            request.set(CaptureRequest.FLASH_MODE, mode);
            repeat();
        }
    }

    private void repeat() {
        try {
            session.setRepeatingRequest(request.build(), null, handler);
        } catch (CameraAccessException error) {
            listener.onCameraFailed("the camera stopped: " + error.getMessage());
        } catch (IllegalStateException error) { // the session was closed in the meantime
            listener.onCameraFailed("the camera stopped: " + error.getMessage());
        }
    }

    /** Closes the camera; further calls have no effect. */
    void close() {
        generation++;
        if (session != null) {
            session.close();
            session = null;
        }
        if (device != null) {
            device.close();
            device = null;
        }
        if (surface != null) {
            surface.release();
            surface = null;
        }
    }

    private final class Opening extends CameraDevice.StateCallback {
        private final int mine;

        Opening(int mine) {
            this.mine = mine;
        }

        @Override
        public void onOpened(CameraDevice opened) {
            if (mine != generation) {
                opened.close();
                return;
            }
            device = opened;
            try {
                request = opened.createCaptureRequest(CameraDevice.TEMPLATE_PREVIEW);
                request.addTarget(surface);
                request.set(CaptureRequest.CONTROL_AF_MODE, CaptureRequest.CONTROL_AF_MODE_CONTINUOUS_PICTURE);
                opened.createCaptureSession(Collections.singletonList(surface), new Configuring(mine), handler);
            } catch (CameraAccessException error) {
                listener.onCameraFailed("the camera cannot be used: " + error.getMessage());
            }
        }

        @Override
        public void onDisconnected(CameraDevice lost) {
            lost.close();
            if (mine == generation) {
                close();
                listener.onCameraFailed("another app has taken the camera; come back to this one to go on");
            }
        }

        @Override
        public void onError(CameraDevice lost, int error) {
            lost.close();
            if (mine == generation) {
                close();
                listener.onCameraFailed("the camera failed (error " + error + ")");
            }
        }
    }

    private final class Configuring extends CameraCaptureSession.StateCallback {
        private final int mine;

        Configuring(int mine) {
            this.mine = mine;
        }

        @Override
        public void onConfigured(CameraCaptureSession configured) {
            if (mine == generation) {
                session = configured;
                repeat();
            }
        }

        @Override
        public void onConfigureFailed(CameraCaptureSession refused) {
            if (mine == generation) {
                listener.onCameraFailed("the camera refuses to send images of that size");
            }
        }
    }
}
