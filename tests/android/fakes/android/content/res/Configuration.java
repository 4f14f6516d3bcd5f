package android.content.res;

import glslinfer.fake.Phone;

/** Fake configuration: the night mode of the {@link Phone}. */
public class Configuration {
    public static final int UI_MODE_NIGHT_MASK = 0x30;
    public static final int UI_MODE_NIGHT_YES = 0x20;

    public int uiMode = Phone.night ? UI_MODE_NIGHT_YES : 0x10;
}
