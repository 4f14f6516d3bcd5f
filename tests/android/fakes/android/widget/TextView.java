package android.widget;

import android.content.Context;
import android.view.View;

public class TextView extends View {
    public String text = "";

    public TextView(Context context) {
        super(context);
    }

    public final void setText(CharSequence text) {
        this.text = text.toString();
    }
}
