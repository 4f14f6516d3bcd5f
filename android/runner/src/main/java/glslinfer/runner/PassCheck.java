package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Checks that passes agree with their textures and programs, and read only drawn textures. */
final class PassCheck {
    private final Map<String, Program.Texture> textures;
    private final Map<String, Program.ShaderProgram> programs;

    PassCheck(Map<String, Program.Texture> textures, Map<String, Program.ShaderProgram> programs) {
        this.textures = textures;
        this.programs = programs;
    }

    /**
     * Refuses passes that do not fit textures and programs, and returns their targets.
     *
     * @param passes their textures and programs exist
     * @throws BundleError with the first inconsistent pass
     */
    Set<String> check(List<Program.Pass> passes) {
        Set<String> written = new HashSet<String>();
        Set<String> drawn = new HashSet<String>();
        String previous = null;
        for (int i = 0; i < passes.size(); i++) {
            Program.Pass pass = passes.get(i);
            String where = "pass " + i + " (layer '" + pass.layer + "')";
            check(pass, where);
            for (String name : pass.textures) {
                if (textures.get(name).isTarget() && !written.contains(name)) {
                    throw new BundleError(where + ": reads texture '" + name + "' before anything is drawn into it");
                }
            }
            if (pass.clear == pass.target.equals(previous)) {
                throw new BundleError(where + ": 'clear' must be true exactly where the target changes");
            }
            boolean again = !drawn.add(pass.layer.length() + ":" + pass.layer + pass.target);
            if (pass.clear && again) {
                throw new BundleError(where + ": clears '" + pass.target + "', into which the layer has drawn before");
            }
            written.add(pass.target);
            previous = pass.target;
        }
        return written;
    }

    private void check(Program.Pass pass, String where) {
        Program.ShaderProgram program = programs.get(pass.program);
        Program.Texture target = textures.get(pass.target);
        if (!target.isTarget() || pass.textures.contains(pass.target)) {
            throw new BundleError(where + ": '" + pass.target + "' is read in the same pass, or no target at all");
        }
        boolean units = pass.textures.size() == program.samplers.size();
        for (Program.Source source : pass.sources) {
            units &= source.unit < pass.textures.size();
        }
        if (!units) {
            throw new BundleError(where + ": its textures do not fit the samplers of program '" + program.name + "'");
        }
        if ((pass.sources.size() + 1) / 2 != program.varyings) {
            throw new BundleError(
                    where + ": " + pass.sources.size() + " sources do not fit " + program.varyings + " varyings");
        }
        for (Program.Quad quad : pass.quads) {
            boolean inside = quad.x + quad.width <= target.width && quad.y + quad.height <= target.height;
            if (quad.width < 1 || quad.height < 1 || !inside) {
                throw new BundleError(where + ": a quad lies outside the target");
            }
        }
    }
}
