package glslinfer.runner;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.CodingErrorAction;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A strict reader of JSON (RFC 8259): refuses comments, {@code NaN}, byte order marks and duplicate keys.
 *
 * <p>Objects become {@code Map<String, Object>}, arrays {@code List<Object>}, strings {@code String}; numbers are
 * {@code Long} without fraction and exponent, otherwise {@code Double}; {@code true} and {@code false} become {@code
 * Boolean}, {@code null} null.
 */
public final class Json {
    private static final int MAX_DEPTH = 64;

    private final String text;
    private final String document;
    private int at;
    private int depth;

    private Json(String text, String document) {
        this.text = text;
        this.document = document;
    }

    /** Returns the parsed manifest.json; see {@link #parse(byte[], String)}. */
    static Object parse(byte[] utf8) {
        return parse(utf8, "manifest");
    }

    /**
     * Returns the parsed value of a UTF-8 text.
     *
     * @param document its name in messages, without {@code .json}
     * @throws Errors.BundleError it is not UTF-8 or JSON, or has a duplicate key
     */
    public static Object parse(byte[] utf8, String document) {
        Json reader = new Json(text(utf8), document);
        Object value = reader.value();
        reader.space();
        if (reader.at < reader.text.length()) {
            throw reader.error("something follows its end");
        }
        return value;
    }

    /** Returns UTF-8 bytes as text; {@link Errors.BundleError} for other bytes. */
    static String text(byte[] utf8) {
        try {
            return Charset.forName("UTF-8")
                    .newDecoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT)
                    .decode(ByteBuffer.wrap(utf8))
                    .toString();
        } catch (CharacterCodingException error) {
            throw new Errors.BundleError("damaged (a text in it is not UTF-8); copy the file again");
        }
    }

    private Errors.BundleError error(String problem) {
        return new Errors.BundleError(document + ".json is no JSON (" + problem + ", character " + at + ")");
    }

    private void space() {
        while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    /** Returns the next character after white space, without advancing; 0 at the end. */
    private char next() {
        space();
        return at < text.length() ? text.charAt(at) : 0;
    }

    private void expect(char expected) {
        if (next() != expected) {
            throw error("expected '" + expected + "'");
        }
        at++;
    }

    private Object value() {
        char first = next();
        if (first == '{' || first == '[') {
            if (++depth > MAX_DEPTH) {
                throw error("nested more than " + MAX_DEPTH + " deep");
            }
            Object value = first == '{' ? object() : array();
            depth--;
            return value;
        }
        if (first == '"') {
            return string();
        }
        if (first == '-' || (first >= '0' && first <= '9')) {
            return number();
        }
        if (word("true")) {
            return Boolean.TRUE;
        }
        if (word("false")) {
            return Boolean.FALSE;
        }
        if (word("null")) {
            return null;
        }
        throw error("expected a value");
    }

    private boolean word(String word) {
        boolean there = text.startsWith(word, at);
        at += there ? word.length() : 0;
        return there;
    }

    private Map<String, Object> object() {
        Map<String, Object> entries = new LinkedHashMap<String, Object>();
        expect('{');
        if (next() == '}') {
            at++;
            return entries;
        }
        while (true) {
            if (next() != '"') {
                throw error("expected a key");
            }
            String key = string();
            expect(':');
            Object value = value();
            if (entries.containsKey(key)) {
                throw new Errors.BundleError(document + ": an object has the same key twice");
            }
            entries.put(key, value);
            if (next() != ',') {
                expect('}');
                return entries;
            }
            at++;
        }
    }

    private List<Object> array() {
        List<Object> items = new ArrayList<Object>();
        expect('[');
        if (next() == ']') {
            at++;
            return items;
        }
        while (true) {
            items.add(value());
            if (next() != ',') {
                expect(']');
                return items;
            }
            at++;
        }
    }

    private String string() {
        StringBuilder out = new StringBuilder();
        at++;
        while (true) {
            if (at >= text.length()) {
                throw error("a string has no end");
            }
            char c = text.charAt(at++);
            if (c == '"') {
                return out.toString();
            }
            if (c < ' ') {
                throw error("a control character in a string");
            }
            out.append(c == '\\' ? escaped() : c);
        }
    }

    private char escaped() {
        char kind = at < text.length() ? text.charAt(at++) : 0;
        int escape = "\"\\/bfnrt".indexOf(kind);
        if (escape >= 0) {
            return "\"\\/\b\f\n\r\t".charAt(escape);
        }
        if (kind != 'u' || at + 4 > text.length()) {
            throw error("an escape that JSON does not have");
        }
        int code = 0;
        for (int end = at + 4; at < end; at++) {
            int digit = "0123456789abcdef".indexOf(Character.toLowerCase(text.charAt(at)));
            if (digit < 0) {
                throw error("an escape that JSON does not have");
            }
            code = 16 * code + digit;
        }
        return (char) code;
    }

    private Object number() {
        int start = at;
        if (text.charAt(at) == '-') {
            at++;
        }
        int leading = at;
        if (digits() > 1 && text.charAt(leading) == '0') {
            throw error("a number with a leading zero");
        }
        boolean isInteger = true;
        if (at < text.length() && text.charAt(at) == '.') {
            at++;
            digits();
            isInteger = false;
        }
        if (at < text.length() && (text.charAt(at) == 'e' || text.charAt(at) == 'E')) {
            at++;
            if (at < text.length() && (text.charAt(at) == '+' || text.charAt(at) == '-')) {
                at++;
            }
            digits();
            isInteger = false;
        }
        String number = text.substring(start, at);
        if (!isInteger) {
            return Double.valueOf(number);
        }
        try {
            return Long.valueOf(number);
        } catch (NumberFormatException error) {
            return Double.valueOf(number); // as in other readers, 1.0 is a number, but not an integer of the format
        }
    }

    private int digits() {
        int start = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        if (at == start) {
            throw error("expected a digit");
        }
        return at - start;
    }

    /** Returns a value for messages, at most 40 characters. */
    public static String shown(Object value) {
        String text = String.valueOf(value);
        return text.length() > 40 ? text.substring(0, 40) : text;
    }
}
