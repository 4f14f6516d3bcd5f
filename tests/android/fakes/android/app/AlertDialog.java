package android.app;

import android.content.Context;
import android.content.DialogInterface;
import glslinfer.fake.Phone;

/** Fake dialog: keeps its items and listener; the {@link Phone} chooses one. */
public class AlertDialog implements DialogInterface {
    public CharSequence[] items = {};
    public DialogInterface.OnClickListener listener;

    public static class Builder {
        private final AlertDialog dialog = new AlertDialog();

        public Builder(Context context) {}

        public Builder setTitle(CharSequence title) {
            return this;
        }

        public Builder setItems(CharSequence[] items, DialogInterface.OnClickListener listener) {
            dialog.items = items;
            dialog.listener = listener;
            return this;
        }

        public AlertDialog show() {
            Phone.dialog = dialog;
            return dialog;
        }
    }
}
