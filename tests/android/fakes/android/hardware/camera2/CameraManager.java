package android.hardware.camera2;

import android.hardware.camera2.params.StreamConfigurationMap;
import android.os.Handler;
import android.util.Size;
import glslinfer.fake.Phone;
import java.util.ArrayList;
import java.util.List;

/** Two cameras, as most phones have them: "0" at the back with a light, "1" at the front. */
public class CameraManager {
    public final List<CameraDevice> opened = new ArrayList<>();
    public Size[] sizes = {};
    public int backDegrees = 90;
    public int frontDegrees = 270;

    public String[] getCameraIdList() throws CameraAccessException {
        return new String[] {"0", "1"};
    }

    public CameraCharacteristics getCameraCharacteristics(String id) throws CameraAccessException {
        boolean front = id.equals("1");
        CameraCharacteristics facts = new CameraCharacteristics();
        facts.values.put(CameraCharacteristics.LENS_FACING, front ? 0 : 1);
        facts.values.put(CameraCharacteristics.SENSOR_ORIENTATION, front ? frontDegrees : backDegrees);
        facts.values.put(CameraCharacteristics.FLASH_INFO_AVAILABLE, !front);
        facts.values.put(CameraCharacteristics.SCALER_STREAM_CONFIGURATION_MAP, new StreamConfigurationMap(sizes));
        return facts;
    }

    public void openCamera(String id, CameraDevice.StateCallback callback,
            Handler handler) throws CameraAccessException {
        if (!Phone.granted) {
            throw new SecurityException("no permission");
        }
        CameraDevice device = new CameraDevice(id, callback);
        opened.add(device);
        Phone.post(() -> callback.onOpened(device));
    }
}
