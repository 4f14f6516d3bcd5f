package android.util;

import glslinfer.fake.Phone;

public class DisplayMetrics {
    public float density = Phone.density;
}
