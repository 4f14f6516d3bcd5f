package android.content;

import android.content.res.AssetManager;
import android.content.res.Resources;
import android.os.Looper;
import glslinfer.fake.Phone;

public class Context {
    public Resources getResources() {
        return new Resources();
    }

    public AssetManager getAssets() {
        return new AssetManager();
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
