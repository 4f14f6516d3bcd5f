package glslinfer.runner;

import glslinfer.runner.Frame.Linked;
import glslinfer.runner.Program.Pass;
import glslinfer.runner.Program.ShaderProgram;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** Compiles and links a bundle's programs; their context must be current. */
final class Linker {
    private Linker() {}

    /**
     * Compiles and links all programs, sets their samplers, and returns them by their names in the manifest.
     *
     * @param objects owner of the programs
     * @param varyings number of vec4 attributes after the position of a vertex
     * @throws Errors.ShaderError the driver refuses a shader; with the layer and the driver's log
     */
    static Map<String, Linked> link(Bundle bundle, Device device, GlObjects objects, int varyings) {
        Gl gl = device.gl;
        String prelude = text(bundle, Program.PRELUDE) + device.deviceLines();
        String[] attributes = new String[1 + varyings];
        attributes[0] = "position";
        for (int i = 0; i < varyings; i++) {
            attributes[1 + i] = "corner" + i;
        }
        // All are started before the first wait, so that a driver can compile several at a time.
        Map<String, String[]> sources = new HashMap<String, String[]>();
        Map<String, Integer> started = new HashMap<String, Integer>();
        for (ShaderProgram entry : bundle.manifest.programs) {
            String[] source = {text(bundle, entry.vertex), prelude + text(bundle, entry.fragment)};
            sources.put(entry.name, source);
            started.put(entry.name, objects.startProgram(source[0], source[1], attributes));
        }
        Map<String, String> users = users(bundle);
        Map<String, Linked> linked = new LinkedHashMap<String, Linked>();
        for (ShaderProgram entry : bundle.manifest.programs) {
            int name = started.get(entry.name);
            String user = users.containsKey(entry.name) ? users.get(entry.name) : entry.name;
            String[] source = sources.get(entry.name);
            objects.checkProgram(name, source[0], source[1], "layer '" + user + "' on " + device.renderer());
            gl.glUseProgram(name);
            for (int unit = 0; unit < entry.samplers.size(); unit++) {
                gl.glUniform1i(gl.glGetUniformLocation(name, entry.samplers.get(unit)), unit);
            }
            int[] locations = new int[entry.uniforms.size()];
            for (int i = 0; i < locations.length; i++) {
                locations[i] = gl.glGetUniformLocation(name, entry.uniforms.get(i).name);
            }
            linked.put(entry.name, new Linked(name, locations));
        }
        objects.dropShaders();
        return linked;
    }

    private static String text(Bundle bundle, String member) {
        return Json.text(bundle.member(member));
    }

    /** Returns the first layer of each program. */
    private static Map<String, String> users(Bundle bundle) {
        Map<String, String> users = new HashMap<String, String>();
        for (Pass pass : bundle.passes) {
            if (!users.containsKey(pass.program)) {
                users.put(pass.program, pass.layer);
            }
        }
        return users;
    }
}
