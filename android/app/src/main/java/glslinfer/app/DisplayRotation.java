package glslinfer.app;

import android.app.Activity;
import android.content.Context;
import android.hardware.display.DisplayManager;
import android.os.Handler;

/** The rotation of the screen, including half turns, which do not change the configuration. */
final class DisplayRotation implements DisplayManager.DisplayListener {
    /** Receives the rotation, a constant of {@code Surface}, at the start and when it changes. */
    interface Listener {
        void onRotation(int rotation);
    }

    private final Activity activity;
    private final Listener listener;

    DisplayRotation(Activity activity, Listener listener) {
        this.activity = activity;
        this.listener = listener;
    }

    void start() {
        displays().registerDisplayListener(this, new Handler(activity.getMainLooper()));
        onDisplayChanged(0);
    }

    void stop() {
        displays().unregisterDisplayListener(this);
    }

    private DisplayManager displays() {
        return (DisplayManager) activity.getSystemService(Context.DISPLAY_SERVICE);
    }

    @Override
    public void onDisplayAdded(int display) {}

    @Override
    public void onDisplayRemoved(int display) {}

    @Override
    public void onDisplayChanged(int display) {
        listener.onRotation(activity.getWindowManager().getDefaultDisplay().getRotation());
    }
}
