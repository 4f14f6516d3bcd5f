package android.hardware.display;

import android.os.Handler;
import java.util.ArrayList;
import java.util.List;

/** Fake that keeps its listeners, which the harness calls when the phone is turned. */
public class DisplayManager {
    public interface DisplayListener {
        void onDisplayAdded(int display);

        void onDisplayRemoved(int display);

        void onDisplayChanged(int display);
    }

    public final List<DisplayListener> listeners = new ArrayList<>();

    public void registerDisplayListener(DisplayListener listener, Handler handler) {
        listeners.add(listener);
    }

    public void unregisterDisplayListener(DisplayListener listener) {
        listeners.remove(listener);
    }
}
