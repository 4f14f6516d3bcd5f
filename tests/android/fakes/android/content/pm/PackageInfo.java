package android.content.pm;

/** Fake package information; the system property {@code version} sets the app's version. */
public class PackageInfo {
    public String versionName = System.getProperty("version", "0");
}
