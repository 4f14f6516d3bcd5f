package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Reads JSON by its description, strictly: an interpreter of the objects and types of {@link FormatConstants}, and of
 * other such tables.
 *
 * <p>Unknown keys, missing ones, wrong types, and integers and lengths out of their ranges are refused as {@link
 * BundleError}. Rules between fields are code, in {@link #make}. A type is a name, {@code int[]} or {@code double[]} (a
 * range), {@code String[]} (words), or an array that begins with how it is made of others:
 *
 * <pre>
 *   "list", item, least[, most]    "capped", item, least, most    more break the rule caps
 *   "tuple", item ...              "map", item                    "range", int[]    a larger integer breaks it, too
 *   "choice", {name, key ...} ...                                 the first object whose keys are all there
 *   "only", type, key, word ...                                   there only and always if the key has such a word
 *   "one or list", item, least                                    a value alone is a list of one
 *   "default", type, JSON                                         of a key that can be missing; null remains null
 * </pre>
 */
public abstract class Described {
    private final Map<String, Object[]> objects;
    private final Map<String, Object> types;
    private final Rule.Cursor at;

    /**
     * @param objects the keys of each object, each before its type
     * @param types types that have a description
     */
    protected Described(Map<String, Object[]> objects, Map<String, Object> types) {
        this.objects = objects;
        this.types = types;
        this.at = new Rule.Cursor();
    }

    /** @param at is moved to the rule of each section of the manifest */
    Described(Rule.Cursor at) {
        this.objects = FormatConstants.OBJECTS;
        this.types = FormatConstants.TYPES;
        this.at = at;
    }

    /** Returns the result for a named object or type from its values: a map by key, or a list. */
    protected abstract Object make(String name, Object fields, String where);

    /** Returns a value of a type; {@code where} names it in messages. */
    public final Object read(Object type, Object value, String where) {
        if (type instanceof int[]) {
            return integer(value, where, (int[]) type);
        }
        if (type instanceof double[]) {
            double[] range = (double[]) type;
            double number = value instanceof Number ? ((Number) value).doubleValue() : Double.NaN;
            if (!(range[0] <= number && number <= range[1])) {
                throw new BundleError(where + " is " + Json.shown(value) + ", not a number from "
                        + Json.shown(range[0]).replaceFirst("\\.0$", "") + " to "
                        + Json.shown(range[1]).replaceFirst("\\.0$", ""));
            }
            return number;
        }
        if (type instanceof String[]) {
            return text(value, where, (String[]) type);
        }
        if (type instanceof Object[]) {
            return compound((Object[]) type, value, where);
        }
        String name = (String) type;
        Object[] keys = objects.get(name);
        if (keys != null) {
            return make(name, object(name, keys, map(value, where), where), where);
        }
        Object described = types.get(name);
        return described == null ? scalar(name, value, where) : make(name, read(described, value, where), where);
    }

    private Map<String, Object> object(String name, Object[] keys, Map<String, Object> fields, String where) {
        boolean isManifest = name.equals("manifest");
        Map<String, Object> values = new LinkedHashMap<String, Object>();
        int unreadCount = fields.size();
        for (int i = 0; i < keys.length; i += 2) {
            String key = (String) keys[i];
            Object type = keys[i + 1];
            Object value = fields.get(key);
            boolean isPresent = fields.containsKey(key);
            if (type instanceof Object[] && ((Object[]) type)[0].equals("only")) {
                List<Object> only = Arrays.asList((Object[]) type);
                if (!only.subList(3, only.size()).contains(values.get(only.get(2)))) {
                    continue;
                }
                type = only.get(1);
            } else if (type instanceof Object[] && ((Object[]) type)[0].equals("default")) {
                Object[] parts = (Object[]) type;
                type = parts[1];
                if (!isPresent) {
                    value = Json.parse(((String) parts[2]).getBytes(Charset.forName("UTF-8")), key);
                    values.put(key, value == null ? null : read(type, value, key));
                    continue;
                }
            }
            if (!isPresent) {
                throw new BundleError(where + ": '" + key + "' is missing");
            }
            unreadCount--;
            at.rule = isManifest && FormatConstants.SECTIONS.contains(key) ? Rule.of(key) : at.rule;
            values.put(key, read(type, value, isManifest ? key : where + "." + key));
            at.rule = isManifest ? Rule.KEYS : at.rule;
        }
        if (unreadCount > 0) {
            Set<String> unknown = new TreeSet<String>(fields.keySet());
            unknown.removeAll(values.keySet());
            throw new BundleError(where + ": unknown key '" + Json.shown(unknown.iterator().next()) + "'");
        }
        return values;
    }

    private Object compound(Object[] type, Object value, String where) {
        switch ((String) type[0]) {
            case "range":
                int[] range = (int[]) type[1];
                if (value instanceof Long && (Long) value > range[1]) {
                    throw new BundleError(Rule.CAPS, where + " is " + value + "; a model has at most " + range[1]);
                }
                return integer(value, where, range);
            case "map":
                Map<String, Object> values = new LinkedHashMap<String, Object>();
                for (Map.Entry<String, Object> entry : map(value, where).entrySet()) {
                    String key = where + "['" + Json.shown(entry.getKey()) + "']";
                    values.put(entry.getKey(), read(type[1], entry.getValue(), key));
                }
                return values;
            case "choice":
                Set<String> keys = map(value, where).keySet();
                List<String> option;
                int index = 1;
                do { // the last needs no key
                    option = Arrays.asList((String[]) type[index++]);
                } while (!keys.containsAll(option.subList(1, option.size())));
                return read(option.get(0), value, where);
            case "one or list":
                return items(type, value instanceof List ? list(value, where) : Arrays.asList(value), where);
            default:
                return items(type, list(value, where), where);
        }
    }

    private List<Object> items(Object[] type, List<Object> items, String where) {
        boolean tuple = type[0].equals("tuple");
        int minimum = tuple ? type.length - 1 : (Integer) type[2];
        int maximum = tuple ? minimum : type.length > 3 ? (Integer) type[3] : Integer.MAX_VALUE;
        int size = items.size();
        if (size < minimum || size > maximum) {
            String possible = minimum + (maximum == Integer.MAX_VALUE ? " or more" : " to " + maximum);
            Rule broken = type[0].equals("capped") && size > maximum ? Rule.CAPS : null;
            throw new BundleError(broken, where + " has " + size + " entries; " + possible + " are possible");
        }
        List<Object> values = new ArrayList<Object>(size);
        for (int i = 0; i < size; i++) {
            values.add(read(type[tuple ? 1 + i : 1], items.get(i), tuple ? where : where + "[" + i + "]"));
        }
        return values;
    }

    private static Object scalar(String name, Object value, String where) {
        if (name.equals("any")) {
            return value;
        }
        if (name.equals("name") || name.equals("identifier")) {
            String text = text(value, where);
            if (name.equals("identifier") && !text.matches(FormatConstants.IDENTIFIER_PATTERN)) {
                throw new BundleError(where + ": '" + Json.shown(text) + "' is not a name that GLSL allows");
            }
            return text;
        }
        if (name.equals("boolean")) {
            if (!(value instanceof Boolean)) {
                throw new BundleError(where + " is " + Json.shown(value) + ", not true or false");
            }
            return value;
        }
        boolean signed = name.equals("number") || name.equals("nonzero");
        double number = value instanceof Number ? ((Number) value).doubleValue() : Double.NaN;
        if (!((signed ? -FormatConstants.MAX_NUMBER : 0) <= number && number <= FormatConstants.MAX_NUMBER)) {
            throw new BundleError(where + " is " + Json.shown(value) + ", not a number"
                    + (signed ? "" : " of 0 or more") + " up to " + FormatConstants.MAX_NUMBER);
        }
        if (number == 0 && (name.equals("nonzero") || name.equals("positive"))) {
            throw new BundleError(where + " is 0; give another number");
        }
        return number;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> map(Object value, String where) {
        if (!(value instanceof Map)) {
            throw new BundleError(where + " is not an object");
        }
        return (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    private static List<Object> list(Object value, String where) {
        if (!(value instanceof List)) {
            throw new BundleError(where + " is not a list");
        }
        return (List<Object>) value;
    }

    static String text(Object value, String where, String... oneOf) {
        if (!(value instanceof String)) {
            throw new BundleError(where + " is " + Json.shown(value) + ", not a string");
        }
        String text = (String) value;
        if (oneOf.length > 0 && !Arrays.asList(oneOf).contains(text)) {
            StringBuilder allowed = new StringBuilder();
            for (String word : oneOf) {
                allowed.append(allowed.length() > 0 ? ", " : "").append(word);
            }
            throw new BundleError(where + " is '" + Json.shown(text) + "', not one of " + allowed);
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

    static int integer(Object value, String where, int[] range) {
        if (!(value instanceof Long) || (Long) value < range[0] || (Long) value > range[1]) {
            throw new BundleError(
                    where + " is " + Json.shown(value) + ", not an integer from " + range[0] + " to " + range[1]);
        }
        return ((Long) value).intValue();
    }
}
