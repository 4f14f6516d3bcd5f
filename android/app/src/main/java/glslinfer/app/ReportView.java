package glslinfer.app;

import android.content.Context;
import android.graphics.Canvas;
import android.view.View;
import android.view.ViewGroup;

/** The current results of a report, a row for each model, and buttons for further actions. */
final class ReportView extends ViewGroup {
    private static final int BACKGROUND = 0xFF000000;
    private static final int FAILURE = 0xFFD0402B;
    private static final float BAR = 78;

    /** Height of a model's row, in lines of text. */
    private static final float LINES_PER_ROW = 2.6f;

    /** Share of a row's width for the times. */
    private static final float TIMES_SHARE = 0.34f;

    /** Text sizes relative to the distance of lines. */
    private static final float LARGE_TEXT = 0.75f;

    private static final float SMALL_TEXT = 0.6f;

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
    protected void onMeasure(int widthSpec, int heightSpec) {
        setMeasuredDimension(MeasureSpec.getSize(widthSpec), MeasureSpec.getSize(heightSpec));
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
        float width = getWidth();
        float bar = BAR * ink.unit;
        ink.paint.setColor(BACKGROUND);
        canvas.drawRect(0, 0, width, getHeight(), ink.paint);
        float y = 34 * ink.text;
        ink.begin().append("Report").append(done ? ": done" : " ...");
        ink.write(canvas, 2 * gap, y, width - 4 * gap, 20 * ink.text, true, 0xFFFFFFFF);
        y += 22 * ink.text;
        ink.begin().append(report.renderer()).append(report.cpu().isEmpty() ? "" : "; ").append(report.cpu());
        ink.write(canvas, 2 * gap, y, width - 4 * gap, 13 * ink.text, false, 0xFFC8D0D6);
        y += 20 * ink.text;
        ink.begin().append(status());
        ink.write(canvas, 2 * gap, y, width - 4 * gap, 13 * ink.text, false, 0xFFC8D0D6);
        y += gap;
        int count = report.count();
        float rowHeight = Math.min(64 * ink.text, (getHeight() - bar - 2 * gap - y) / Math.max(1, count));
        for (int i = 0; i < count; i++) {
            drawModel(canvas, i, gap, y + i * rowHeight + gap / 2, width - 2 * gap, rowHeight - gap / 2);
        }
        ink.round(canvas, gap, getHeight() - bar, width - gap, getHeight() - gap, 22 * ink.unit, ink.palette.panel);
    }

    /** Returns the current state, or the next action. */
    private String status() {
        if (!running.isEmpty()) {
            return running;
        }
        if (!report.sustainedFailure().isEmpty()) {
            return "The long run failed: " + report.sustainedFailure();
        }
        double slowdown = report.slowdown();
        return slowdown > 0
                ? "At the end, frames took " + Math.round(100 * slowdown) / 100.0 + " times as long as at the start"
                : done ? "Send it, or save it and attach it to an issue" : "";
    }

    private void drawModel(Canvas canvas, int index, float left, float top, float width, float height) {
        float gap = 8 * ink.unit;
        float lineHeight = Math.min(height / LINES_PER_ROW, 24 * ink.text);
        ink.round(canvas, left, top, left + width, top + height, 12 * ink.unit, ink.palette.panel);
        float x = left + 1.5f * gap;
        float y = top + height / 2 - 0.15f * lineHeight;
        float timesWidth = TIMES_SHARE * width;
        float timesX = left + width - gap - timesWidth;
        float maxWidth = width - 4 * gap - timesWidth;
        ink.begin().append(report.name(index));
        ink.write(canvas, x, y, maxWidth, LARGE_TEXT * lineHeight, true, ink.palette.text);
        ink.begin().append(report.verdict(index));
        boolean timed = report.frameMs(index) > 0;
        ink.write(canvas, x, y + lineHeight, timed ? maxWidth : width - 3 * gap, SMALL_TEXT * lineHeight, false,
                report.right(index) ? ink.palette.faint : FAILURE);
        if (timed) {
            ink.begin();
            ink.tenths(report.frameMs(index)).append(" ms");
            ink.write(canvas, timesX, y, timesWidth, LARGE_TEXT * lineHeight, true, ink.palette.accent);
            ink.begin().append("start ").append(Math.round(report.startMs(index))).append(" ms");
            ink.write(canvas, timesX, y + lineHeight, timesWidth, SMALL_TEXT * lineHeight, false, ink.palette.faint);
        }
    }
}
