package android.widget;

import android.content.Context;
import android.graphics.Canvas;
import android.graphics.Paint;
import android.view.View;

/** Fake text, drawn in one line. */
public class TextView extends View {
    public String text = "";

    public TextView(Context context) {
        super(context);
    }

    public final void setText(CharSequence text) {
        this.text = text.toString();
    }

    @Override
    protected void onDraw(Canvas canvas) {
        canvas.drawText(text, 0, text.length(), 0, 20, new Paint(0));
    }
}
