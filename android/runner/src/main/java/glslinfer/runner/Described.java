package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Reads JSON by its description, strictly: an interpreter of the objects and types of {@link FormatConstants}.
 *
 * <p>Unknown keys, missing ones, wrong types, and integers and lengths out of their ranges are refused as {@link
 * BundleError}. Rules between fields are code, in {@link #make}. A type is a name, {@code int[]} (a range), {@code
 * String[]} (words), or an array that begins with how it is made of others:
 *
 * <pre>
 *   "list", item, least[, most]    "capped", item, least, most    more break the rule caps
 *   "tuple", item ...              "map", item                    "range", int[]    a larger integer breaks it, too
 *   "choice", {name, key ...} ...                                 the first object whose keys are all there
 *   "only", type, key, word ...                                   there only and always if the key has such a word
 * </pre>
 */
abstract class Described {
    private final Rule.Cursor at;

    /** @param at is moved to the rule of each section of the manifest */
    Described(Rule.Cursor at) {
        this.at = at;
    }

    /** Returns the result for a named object or type from its values: a map by key, or a list. */
    abstract Object make(String name, Object given, String where);

    /** Returns a value of a type; {@code where} names it in messages. */
    final Object read(Object type, Object value, String where) {
        if (type instanceof int[]) {
            return Fields.integer(value, where, (int[]) type);
        }
        if (type instanceof String[]) {
            return Fields.text(value, where, (String[]) type);
        }
        if (type instanceof Object[]) {
            return compound((Object[]) type, value, where);
        }
        String name = (String) type;
        Object[] keys = FormatConstants.OBJECTS.get(name);
        if (keys != null) {
            return make(name, object(name, keys, Fields.object(value, where), where), where);
        }
        Object described = FormatConstants.TYPES.get(name);
        return described == null ? scalar(name, value, where) : make(name, read(described, value, where), where);
    }

    private Map<String, Object> object(String name, Object[] keys, Map<String, Object> fields, String where) {
        boolean whole = name.equals("manifest");
        Map<String, Object> found = new LinkedHashMap<String, Object>();
        for (int i = 0; i < keys.length; i += 2) {
            String key = (String) keys[i];
            Object type = keys[i + 1];
            if (type instanceof Object[] && ((Object[]) type)[0].equals("only")) {
                List<Object> only = Arrays.asList((Object[]) type);
                if (!only.subList(3, only.size()).contains(found.get(only.get(2)))) {
                    continue;
                }
                type = only.get(1);
            }
            if (!fields.containsKey(key)) {
                throw new BundleError(where + ": '" + key + "' is missing");
            }
            at.rule = whole && FormatConstants.SECTIONS.contains(key) ? Rule.of(key) : at.rule;
            found.put(key, read(type, fields.get(key), whole ? key : where + "." + key));
            at.rule = whole ? Rule.KEYS : at.rule;
        }
        if (found.size() < fields.size()) {
            Set<String> unknown = new TreeSet<String>(fields.keySet());
            unknown.removeAll(found.keySet());
            throw new BundleError(where + ": unknown key '" + Fields.shown(unknown.iterator().next()) + "'");
        }
        return found;
    }

    private Object compound(Object[] type, Object value, String where) {
        switch ((String) type[0]) {
            case "range":
                int[] range = (int[]) type[1];
                if (value instanceof Long && (Long) value > range[1]) {
                    throw new BundleError(Rule.CAPS, where + " is " + value + "; a model has at most " + range[1]);
                }
                return Fields.integer(value, where, range);
            case "map":
                Map<String, Object> found = new LinkedHashMap<String, Object>();
                for (Map.Entry<String, Object> entry : Fields.object(value, where).entrySet()) {
                    String key = where + "['" + Fields.shown(entry.getKey()) + "']";
                    found.put(entry.getKey(), read(type[1], entry.getValue(), key));
                }
                return found;
            case "choice":
                Set<String> keys = Fields.object(value, where).keySet();
                List<String> option;
                int index = 1;
                do { // the last needs no key
                    option = Arrays.asList((String[]) type[index++]);
                } while (!keys.containsAll(option.subList(1, option.size())));
                return read(option.get(0), value, where);
            default:
                return items(type, Fields.items(value, where), where);
        }
    }

    private List<Object> items(Object[] type, List<Object> items, String where) {
        boolean tuple = type[0].equals("tuple");
        int least = tuple ? type.length - 1 : (Integer) type[2];
        int most = tuple ? least : type.length > 3 ? (Integer) type[3] : Integer.MAX_VALUE;
        int size = items.size();
        if (size < least || size > most) {
            String possible = least + (most == Integer.MAX_VALUE ? " or more" : " to " + most);
            Rule broken = type[0].equals("capped") && size > most ? Rule.CAPS : null;
            throw new BundleError(broken, where + " has " + size + " entries; " + possible + " are possible");
        }
        List<Object> found = new ArrayList<Object>(size);
        for (int i = 0; i < size; i++) {
            found.add(read(type[tuple ? 1 + i : 1], items.get(i), tuple ? where : where + "[" + i + "]"));
        }
        return found;
    }

    private static Object scalar(String name, Object value, String where) {
        if (name.equals("any")) {
            return value;
        }
        if (name.equals("name") || name.equals("identifier")) {
            String text = Fields.text(value, where);
            if (name.equals("identifier") && !text.matches(FormatConstants.IDENTIFIER_PATTERN)) {
                throw new BundleError(where + ": '" + Fields.shown(text) + "' is not a name that GLSL allows");
            }
            return text;
        }
        boolean signed = name.equals("number") || name.equals("nonzero");
        double number = Fields.number(value, where, signed ? -FormatConstants.MAX_NUMBER : 0.0);
        if (number == 0 && (name.equals("nonzero") || name.equals("positive"))) {
            throw new BundleError(where + " is 0; give another number");
        }
        return number;
    }
}
