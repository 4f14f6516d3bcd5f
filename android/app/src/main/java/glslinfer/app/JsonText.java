package glslinfer.app;

import java.util.List;
import java.util.Map;

/**
 * Writes data as JSON, as {@link glslinfer.runner.Json} reads it: maps, lists, strings, numbers, booleans and nulls.
 */
final class JsonText {
    private final StringBuilder out = new StringBuilder();

    private JsonText() {}

    /** Returns the JSON text of a value, indented by a space for each level. */
    static String of(Object value) {
        JsonText text = new JsonText();
        text.write(value, "\n");
        return text.out.append('\n').toString();
    }

    private void write(Object value, String line) {
        if (value instanceof Map) {
            char before = '{';
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                out.append(before).append(line).append(' ');
                quote(entry.getKey().toString());
                out.append(": ");
                write(entry.getValue(), line + " ");
                before = ',';
            }
            out.append(before == '{' ? "{" : line).append('}');
        } else if (value instanceof List) {
            char before = '[';
            for (Object item : (List<?>) value) {
                out.append(before).append(line).append(' ');
                write(item, line + " ");
                before = ',';
            }
            out.append(before == '[' ? "[" : line).append(']');
        } else if (value instanceof Double && (((Double) value).isNaN() || ((Double) value).isInfinite())) {
            out.append("null"); // JSON cannot represent them
        } else if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else {
            quote(value.toString());
        }
    }

    private void quote(String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                out.append(String.format("\\u%04x", (int) c)); // messengers keep ASCII unchanged
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
