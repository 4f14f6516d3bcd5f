package android.app;

import android.content.Context;
import android.content.Intent;
import android.content.res.Configuration;
import android.os.Bundle;
import android.view.View;
import android.view.Window;
import android.view.WindowManager;
import glslinfer.fake.Phone;

/**
 * Fake screen: keeps its content view, and forwards actions of the system and started activities to the {@link Phone}.
 */
public class Activity extends Context {
    public static final int RESULT_OK = -1;

    public View content;
    public Intent intent = new Intent("start");

    protected void onCreate(Bundle saved) {}

    protected void onResume() {}

    protected void onPause() {}

    protected void onSaveInstanceState(Bundle saved) {}

    protected void onActivityResult(int code, int result, Intent data) {}

    public void onConfigurationChanged(Configuration now) {}

    public void onRequestPermissionsResult(int code, String[] names, int[] granted) {}

    public void setContentView(View view) {
        content = view;
    }

    public Intent getIntent() {
        return intent;
    }

    public Window getWindow() {
        return new Window();
    }

    public WindowManager getWindowManager() {
        return Phone.windows;
    }

    public final void runOnUiThread(Runnable action) {
        Phone.post(action);
    }

    public final void requestPermissions(String[] names, int code) {
        Phone.asked(names, code);
    }

    public void startActivity(Intent intent) {
        if (intent.started == null) {
            Phone.sent = intent.extras.get(Intent.EXTRA_TEXT);
        } else {
            Phone.follow(intent.started.getName());
        }
    }

    public void startActivityForResult(Intent intent, int code) {
        Phone.chooser = code;
    }

    // Actions of the system, called by the harness.

    public void create(Bundle saved) {
        onCreate(saved);
    }

    public void resume() {
        onResume();
    }

    public void pause() {
        onPause();
    }

    public void save(Bundle saved) {
        onSaveInstanceState(saved);
    }

    public void result(int code, int result, Intent data) {
        onActivityResult(code, result, data);
    }
}
