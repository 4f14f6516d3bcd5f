package android.util;

import glslinfer.fake.Phone;

public class DisplayMetrics {
    public float density = Phone.density;
    public float scaledDensity = Phone.density * Phone.textScale;
    public int widthPixels = Phone.width;
    public int heightPixels = Phone.height;
}
