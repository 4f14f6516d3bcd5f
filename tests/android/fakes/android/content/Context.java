package android.content;

import android.content.pm.PackageManager;
import android.content.res.AssetManager;
import android.content.res.Resources;
import android.os.Looper;
import glslinfer.fake.Phone;
import java.io.File;

public class Context {
    public Resources getResources() {
        return new Resources();
    }

    public AssetManager getAssets() {
        return new AssetManager();
    }

    public PackageManager getPackageManager() {
        return new PackageManager();
    }

    public String getPackageName() {
        return "glslinfer.app";
    }

    public File getFilesDir() {
        return new File(System.getProperty("files", System.getProperty("java.io.tmpdir")));
    }

    /** A phone whose battery has 31.5 degrees. */
    public Intent registerReceiver(BroadcastReceiver receiver, IntentFilter filter) {
        return new Intent(Intent.ACTION_BATTERY_CHANGED).putExtra("temperature", "315");
    }

    public ContentResolver getContentResolver() {
        return new ContentResolver();
    }

    public Looper getMainLooper() {
        return null;
    }

    public Object getSystemService(String name) {
        return name.equals("camera") ? Phone.cameras : Phone.displays;
    }

    public int checkSelfPermission(String name) {
        return Phone.granted ? 0 : -1;
    }
}
