package android.hardware.camera2.params;

import android.util.Size;

/** Fake with the same sizes for every kind of output. */
public class StreamConfigurationMap {
    private final Size[] sizes;

    public StreamConfigurationMap(Size... sizes) {
        this.sizes = sizes;
    }

    public <T> Size[] getOutputSizes(Class<T> kind) {
        return sizes;
    }
}
