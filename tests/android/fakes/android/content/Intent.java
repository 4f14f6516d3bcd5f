package android.content;

import android.net.Uri;
import java.util.HashMap;
import java.util.Map;

public class Intent {
    public final Map<String, String> extras = new HashMap<>();
    public Uri data;

    /** The activity that is to be started. */
    public final Class<?> started;

    public Intent(String action) {
        started = null;
    }

    public Intent(Context context, Class<?> started) {
        this.started = started;
    }

    public Intent addCategory(String category) {
        return this;
    }

    public Intent setType(String type) {
        return this;
    }

    public Uri getData() {
        return data;
    }

    public String getStringExtra(String name) {
        return extras.get(name);
    }

    public float getFloatExtra(String name, float other) {
        return extras.containsKey(name) ? Float.parseFloat(extras.get(name)) : other;
    }
}
