package glslinfer.runner;

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStream;
import java.io.InputStreamReader;

/**
 * Verdicts of the Java reader: for each path on standard input a line with the refusal, or "ok" and a checksum of name,
 * passes and labels.
 */
final class Verdicts {
    private Verdicts() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader paths = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String path = paths.readLine(); path != null; path = paths.readLine()) {
            InputStream file = new FileInputStream(path);
            try {
                Bundle bundle = Bundle.read(file, "file");
                StringBuilder said = new StringBuilder(bundle.manifest.name).append('\n').append(bundle.passes.size());
                for (String label : bundle.labels) {
                    said.append('\n').append(label);
                }
                System.out.println("ok " + said.toString().hashCode());
            } catch (Errors.BundleError error) {
                System.out.println(error.getMessage().replaceAll("[\\x00-\\x1f\\x7f]", "?"));
            } finally {
                file.close();
            }
        }
    }
}
