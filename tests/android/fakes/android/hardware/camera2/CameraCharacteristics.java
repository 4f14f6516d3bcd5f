package android.hardware.camera2;

import android.hardware.camera2.params.StreamConfigurationMap;
import java.util.HashMap;
import java.util.Map;

/** Fake properties of a camera, set by the harness. */
public class CameraCharacteristics {
    public static final class Key<T> {}

    public static final Key<Integer> LENS_FACING = new Key<>();
    public static final Key<Integer> SENSOR_ORIENTATION = new Key<>();
    public static final Key<Boolean> FLASH_INFO_AVAILABLE = new Key<>();
    public static final Key<StreamConfigurationMap> SCALER_STREAM_CONFIGURATION_MAP = new Key<>();

    public final Map<Key<?>, Object> values = new HashMap<>();

    @SuppressWarnings("unchecked")
    public <T> T get(Key<T> key) {
        return (T) values.get(key);
    }
}
