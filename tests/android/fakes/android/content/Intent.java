package android.content;

import android.net.Uri;
import java.util.HashMap;
import java.util.Map;

public class Intent {
    public final Map<String, String> extras = new HashMap<>();
    public Uri data;

    public Intent(String action) {}

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
