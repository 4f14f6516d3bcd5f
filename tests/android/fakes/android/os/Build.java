package android.os;

/** Fake device names; the system property {@code sdk} sets the API level. */
public class Build {
    public static final String MANUFACTURER = "Fake";
    public static final String MODEL = "Phone";
    public static final String HARDWARE = "jvm";

    public static class VERSION {
        public static final int SDK_INT = Integer.getInteger("sdk", 34);
        public static final String RELEASE = "14";
    }
}
