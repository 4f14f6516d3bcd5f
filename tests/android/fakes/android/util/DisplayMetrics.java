package android.util;

import glslinfer.fake.Phone;

/** Fake metrics: size and density of the {@link Phone}'s screen. */
public class DisplayMetrics {
    public float density = Phone.density;
    public float scaledDensity = Phone.density * Phone.textScale;
    public int widthPixels = Phone.width;
    public int heightPixels = Phone.height;
}
