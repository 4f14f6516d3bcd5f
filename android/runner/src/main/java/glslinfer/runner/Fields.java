package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * Strict reader of the fields of a JSON object: each key is read by name and type, and others are refused.
 *
 * <p>All methods throw {@link BundleError} with the object and the field.
 */
public final class Fields {
    public final String where;
    private final Map<String, Object> left;

    public Fields(Object value, String where) {
        this.where = where;
        this.left = new LinkedHashMap<String, Object>(object(value, where));
    }

    /** Refuses the keys that were not read. */
    public void done() {
        if (!left.isEmpty()) {
            throw new BundleError(where + ": unknown key '" + new TreeSet<String>(left.keySet()).first() + "'");
        }
    }

    /** Returns whether a key exists and was not read yet. */
    public boolean has(String key) {
        return left.containsKey(key);
    }

    /** Returns the value of a key without checks; null if it is absent. */
    public Object optional(String key) {
        return left.remove(key);
    }

    public Object any(String key) {
        if (!left.containsKey(key)) {
            throw new BundleError(where + ": '" + key + "' is missing");
        }
        return left.remove(key);
    }

    public String text(String key, String... oneOf) {
        return text(any(key), where + ": '" + key + "'", oneOf);
    }

    /** Returns an integer; {@code range} has the smallest and largest value. */
    public int integer(String key, int[] range) {
        return integer(any(key), where + ": '" + key + "'", range);
    }

    public double number(String key, double low) {
        return number(any(key), where + ": '" + key + "'", low);
    }

    public List<Object> items(String key) {
        return items(any(key), where + ": '" + key + "'");
    }

    public List<String> texts(String key) {
        List<String> out = new ArrayList<String>();
        for (Object item : items(key)) {
            out.add(text(item, where + ": '" + key + "'[" + out.size() + "]"));
        }
        return out;
    }

    public Map<String, Object> mapping(String key) {
        return object(any(key), where + ": '" + key + "'");
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object value, String where) {
        if (!(value instanceof Map)) {
            throw new BundleError(where + " is not an object");
        }
        return (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    public static List<Object> items(Object value, String where) {
        if (!(value instanceof List)) {
            throw new BundleError(where + " is not a list");
        }
        return (List<Object>) value;
    }

    public static String text(Object value, String where, String... oneOf) {
        if (!(value instanceof String)) {
            throw new BundleError(where + " is " + shown(value) + ", not a string");
        }
        String text = (String) value;
        if (oneOf.length > 0 && !Arrays.asList(oneOf).contains(text)) {
            StringBuilder allowed = new StringBuilder();
            for (String one : oneOf) {
                allowed.append(allowed.length() > 0 ? ", " : "").append(one);
            }
            throw new BundleError(where + " is '" + shown(text) + "', not one of " + allowed);
        }
        for (int i = 0; i < text.length(); i++) {
            boolean pair = i + 1 < text.length() && Character.isSurrogatePair(text.charAt(i), text.charAt(i + 1));
            if (Character.isSurrogate(text.charAt(i)) && !pair) {
                throw new BundleError(where + " has half of a surrogate pair in it");
            }
            i += pair ? 1 : 0;
        }
        return text;
    }

    public static int integer(Object value, String where, int[] range) {
        if (!(value instanceof Long) || (Long) value < range[0] || (Long) value > range[1]) {
            throw new BundleError(
                    where + " is " + shown(value) + ", not an integer from " + range[0] + " to " + range[1]);
        }
        return ((Long) value).intValue();
    }

    public static double number(Object value, String where, double low) {
        double number = value instanceof Number ? ((Number) value).doubleValue() : Double.NaN;
        if (!(low <= number && number <= FormatConstants.MAX_NUMBER)) {
            boolean any = low == -FormatConstants.MAX_NUMBER;
            String least = any ? "" : " of " + (low == 0 ? "0" : String.valueOf(low)) + " or more";
            throw new BundleError(where + " is " + shown(value) + ", not a number" + least
                    + " up to " + FormatConstants.MAX_NUMBER);
        }
        return number;
    }

    /** Returns a value for messages, at most 40 characters. */
    public static String shown(Object value) {
        String text = String.valueOf(value);
        return text.length() > 40 ? text.substring(0, 40) : text;
    }
}
