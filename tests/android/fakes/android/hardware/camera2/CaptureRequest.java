package android.hardware.camera2;

import android.view.Surface;
import java.util.HashMap;
import java.util.Map;

/** Fake request: keeps the settings of its builder for the harness. */
public class CaptureRequest {
    public static final class Key<T> {}

    public static final Key<Integer> CONTROL_AF_MODE = new Key<>();
    public static final Key<Integer> FLASH_MODE = new Key<>();

    public final Map<Key<?>, Object> values = new HashMap<>();

    public static final class Builder {
        private final Map<Key<?>, Object> values = new HashMap<>();

        public void addTarget(Surface surface) {}

        public <T> void set(Key<T> key, T value) {
            values.put(key, value);
        }

        public CaptureRequest build() {
            CaptureRequest request = new CaptureRequest();
            request.values.putAll(values);
            return request;
        }
    }
}
