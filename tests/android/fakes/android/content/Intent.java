package android.content;

import android.net.Uri;
import java.util.HashMap;
import java.util.Map;

public class Intent {
    public static final String ACTION_BATTERY_CHANGED = "android.intent.action.BATTERY_CHANGED";
    public static final String ACTION_CREATE_DOCUMENT = "android.intent.action.CREATE_DOCUMENT";
    public static final String ACTION_SEND = "android.intent.action.SEND";
    public static final String CATEGORY_OPENABLE = "android.intent.category.OPENABLE";
    public static final String EXTRA_SUBJECT = "android.intent.extra.SUBJECT";
    public static final String EXTRA_TEXT = "android.intent.extra.TEXT";
    public static final String EXTRA_TITLE = "android.intent.extra.TITLE";

    public final String action;
    public final Map<String, String> extras = new HashMap<>();
    public Uri data;

    /** The activity that is to be started. */
    public final Class<?> started;

    public Intent(String action) {
        this.action = action;
        started = null;
    }

    public Intent(Context context, Class<?> started) {
        action = "";
        this.started = started;
    }

    public Intent addCategory(String category) {
        return this;
    }

    public Intent setType(String type) {
        return this;
    }

    public Intent putExtra(String name, String value) {
        extras.put(name, value);
        return this;
    }

    public int getIntExtra(String name, int other) {
        return extras.containsKey(name) ? Integer.parseInt(extras.get(name)) : other;
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
