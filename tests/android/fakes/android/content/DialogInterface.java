package android.content;

/** The listener of dialogs, as in the real interface. */
public interface DialogInterface {
    interface OnClickListener {
        void onClick(DialogInterface dialog, int which);
    }
}
