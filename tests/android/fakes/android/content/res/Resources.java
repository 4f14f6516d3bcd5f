package android.content.res;

import android.util.DisplayMetrics;

/** Fake resources: the configuration and the display metrics of the {@link glslinfer.fake.Phone}. */
public class Resources {
    public Configuration getConfiguration() {
        return new Configuration();
    }

    public DisplayMetrics getDisplayMetrics() {
        return new DisplayMetrics();
    }
}
