package android.view;

import glslinfer.fake.Phone;

public final class Display {
    public int getRotation() {
        return Phone.rotation;
    }
}
