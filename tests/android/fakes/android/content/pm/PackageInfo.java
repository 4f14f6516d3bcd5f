package android.content.pm;

public class PackageInfo {
    public String versionName = System.getProperty("version", "0");
}
