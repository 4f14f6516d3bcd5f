package android.content.pm;

public class PackageManager {
    public static class NameNotFoundException extends Exception {
        private static final long serialVersionUID = 1;
    }

    public PackageInfo getPackageInfo(String name, int flags) throws NameNotFoundException {
        return new PackageInfo();
    }
}
