package glslinfer.app;

import android.content.Context;
import android.graphics.Canvas;
import android.view.View;
import android.view.ViewGroup;

/** The current results of a report, a line for each model, and buttons for further actions. */
final class ReportView extends ViewGroup {
    private static final int BEHIND = 0xFF000000;
    private static final int WRONG = 0xFFD0402B;
    private static final float BAR = 78;

    final ControlButton send;
    final ControlButton save;
    final ControlButton longer;

    private final Ink ink;
    private final int models;
    private final Report report;
    private String running = "";
    private boolean done;

    /**
     * @param models expected number of models
     * @param minutes text of the long run's button
     */
    ReportView(Context context, Ink ink, Report report, int models, String minutes, View.OnClickListener listener) {
        super(context);
        this.ink = ink;
        this.report = report;
        this.models = models;
        setWillNotDraw(false);
        setContentDescription("Report");
        send = button(context, Icon.SEND, "Send", listener);
        save = button(context, Icon.SAVE, "Save", listener);
        longer = button(context, Icon.TIMES, minutes, listener);
        setDone(false);
    }

    private ControlButton button(Context context, Icon icon, String word, View.OnClickListener listener) {
        ControlButton button = new ControlButton(context, ink, icon, word);
        button.setOnClickListener(listener);
        addView(button);
        return button;
    }

    /** Sets a short description of the current step; on the main thread. */
    void setRunning(String words) {
        running = words;
        invalidate();
    }

    /** Sets whether the report is complete; on the main thread. */
    void setDone(boolean isComplete) {
        done = isComplete;
        send.setEnabled(isComplete);
        save.setEnabled(isComplete);
        longer.setEnabled(isComplete && models > 0);
        invalidate();
    }

    @Override
    protected void onMeasure(int wide, int high) {
        setMeasuredDimension(MeasureSpec.getSize(wide), MeasureSpec.getSize(high));
    }

    @Override
    protected void onLayout(boolean changed, int left, int top, int right, int bottom) {
        int width = right - left;
        int height = bottom - top;
        int bar = Math.round(BAR * ink.unit);
        ControlButton[] row = {send, save, longer};
        for (int i = 0; i < row.length; i++) {
            int from = i * width / row.length;
            int to = (i + 1) * width / row.length;
            row[i].measure(
                    MeasureSpec.makeMeasureSpec(to - from, MeasureSpec.EXACTLY),
                    MeasureSpec.makeMeasureSpec(bar, MeasureSpec.EXACTLY));
            row[i].layout(from, height - bar, to, height);
        }
    }

    @Override
    protected void onDraw(Canvas canvas) {
        float gap = 8 * ink.unit;
        float wide = getWidth();
        float bar = BAR * ink.unit;
        ink.paint.setColor(BEHIND);
        canvas.drawRect(0, 0, wide, getHeight(), ink.paint);
        float y = 34 * ink.text;
        ink.begin().append("Report").append(done ? ": done" : " ...");
        ink.write(canvas, 2 * gap, y, wide - 4 * gap, 20 * ink.text, true, 0xFFFFFFFF);
        y += 22 * ink.text;
        ink.begin().append(report.renderer()).append(report.cpu().isEmpty() ? "" : "; ").append(report.cpu());
        ink.write(canvas, 2 * gap, y, wide - 4 * gap, 13 * ink.text, false, 0xFFC8D0D6);
        y += 20 * ink.text;
        ink.begin().append(line());
        ink.write(canvas, 2 * gap, y, wide - 4 * gap, 13 * ink.text, false, 0xFFC8D0D6);
        y += gap;
        int count = report.count();
        float each = Math.min(64 * ink.text, (getHeight() - bar - 2 * gap - y) / Math.max(1, count));
        for (int i = 0; i < count; i++) {
            drawModel(canvas, i, gap, y + i * each + gap / 2, wide - 2 * gap, each - gap / 2);
        }
        ink.round(canvas, gap, getHeight() - bar, wide - gap, getHeight() - gap, 22 * ink.unit, ink.palette.panel);
    }

    /** Returns the current state, or the next action. */
    private String line() {
        if (!running.isEmpty()) {
            return running;
        }
        if (!report.sustainedFailure().isEmpty()) {
            return "The long run failed: " + report.sustainedFailure();
        }
        double slowdown = report.slowdown();
        return slowdown > 0
                ? "The end of the long run took " + Math.round(100 * slowdown) / 100.0 + " of its beginning"
                : done ? "Send it, or save it and attach it to an issue" : "";
    }

    private void drawModel(Canvas canvas, int index, float left, float top, float across, float high) {
        float gap = 8 * ink.unit;
        float step = Math.min(high / 2.6f, 24 * ink.text);
        ink.round(canvas, left, top, left + across, top + high, 12 * ink.unit, ink.palette.panel);
        float x = left + 1.5f * gap;
        float y = top + high / 2 - 0.15f * step;
        float times = 0.34f * across;
        float most = across - 4 * gap - times;
        ink.begin().append(report.name(index));
        ink.write(canvas, x, y, most, 0.75f * step, true, ink.palette.text);
        ink.begin().append(report.verdict(index));
        boolean timed = report.frameMs(index) > 0;
        ink.write(canvas, x, y + step, timed ? most : across - 3 * gap, 0.6f * step, false,
                report.right(index) ? ink.palette.faint : WRONG);
        if (timed) {
            ink.begin();
            ink.tenths(report.frameMs(index)).append(" ms");
            ink.write(canvas, left + across - gap - times, y, times, 0.75f * step, true, ink.palette.accent);
            ink.begin().append("start ").append(Math.round(report.startMs(index))).append(" ms");
            ink.write(canvas, left + across - gap - times, y + step, times, 0.6f * step, false, ink.palette.faint);
        }
    }
}
