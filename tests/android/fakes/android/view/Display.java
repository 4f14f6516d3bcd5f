package android.view;

import glslinfer.fake.Phone;

/** Fake screen with the rotation of the {@link Phone}. */
public final class Display {
    public int getRotation() {
        return Phone.rotation;
    }
}
