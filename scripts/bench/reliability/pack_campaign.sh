#!/usr/bin/env bash
# Packs what campaign.py needs for an x86-64 machine that has only Python, NumPy, Pillow, onnx and onnxruntime:
#
#     scripts/bench/reliability/pack_campaign.sh python3.12 .gl    # a Python of the version there; some 40 MB
#     for f in .gl/*.tar.xz; do tar -xf $f -C /tmp; done; /tmp/campaign/run.sh OUT-FOLDER --seconds 480    # there
#
# mesa.tar.xz, made once: Mesa (llvmpipe, softpipe) with all that it loads but glibc, of 2.36 or newer. tests.tar.xz: this
# commit's tree, the tests' small Python packages, and the .tflite files that the fuzzer begins with: LiteRT makes them.
# libz3 and libxml2, with 50 MB of ICU, are empty: LLVM has them for what Mesa does not use.
set -euo pipefail
python=$1 out=$(realpath "$2") lib=/usr/lib/x86_64-linux-gnu work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$(dirname "$0")/../../.."
all=$work/campaign mesa=$work/campaign/mesa
mkdir -p "$mesa/lib" "$mesa/dri" "$mesa/glvnd" "$all/tree" "$all/site/ai_edge_litert"

git archive HEAD glsl_infer shaders scripts/bench/reliability tests models/*.glslnn pyproject.toml | tar -x -C "$all/tree"
rm -rf "$all"/tree/tests/{android,vc4,web,keras,arm}
.venv/bin/python scripts/bench/reliability/fuzz_files.py tflite --files 0 --sound "$all/tflite"
if [ ! -e "$out/mesa.tar.xz" ]; then

cp -L "$lib/dri/swrast_dri.so" "$mesa/dri/"
cp -L "$lib/libEGL_mesa.so.0" "$mesa/lib/"
cp -L "$lib/libEGL.so.1" "$lib/libGLESv2.so.2" "$lib/libGLdispatch.so.0" "$mesa/glvnd/"
for name in libEGL libGLESv2; do ln -s "$(cd "$mesa/glvnd" && echo $name.so.?)" "$mesa/glvnd/$name.so"; done
ldd "$lib/libEGL_mesa.so.0" "$lib/dri/swrast_dri.so" | awk '$2 == "=>" { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libpthread|libdl|librt|libicu[a-z]*|libz3|libxml2)\.so' | xargs -I{} cp -L {} "$mesa/lib/"
needs=$(nm -D --undefined-only "$lib/libLLVM-15.so.1" | awk '/ (Z3_|xml)/ { print $2 }')
stub() { # what LLVM takes from a library, all of it empty: NAME PATTERN
    grep -E "$2" <<<"$needs" | sed 's/@.*//; s/.*/void *(*&)(void);/' >"$work/stub.c"
    grep -E "$2.*@" <<<"$needs" | awk -F@ '{ of[$2] = of[$2] " " $1 ";" } END { for (v in of) print v " {" of[v] " };" }' >"$work/stub.map" || true
    gcc -shared -fPIC -s "-Wl,-soname,$1" ${3:+"-Wl,--version-script=$work/stub.map"} -o "$mesa/lib/$1" "$work/stub.c"
}
stub libz3.so.4 '^Z3_'
stub libxml2.so.2 '^xml' versions
cat >"$mesa/egl.json" <<'JSON'
{"file_format_version": "1.0.0", "ICD": {"library_path": "libEGL_mesa.so.0"}}
JSON
tar -C "$work" -c campaign/mesa | xz -9e -T2 >"$out/mesa.tar.xz"

fi
packages=(PyOpenGL glfw hypothesis sortedcontainers flatbuffers tflite pytest iniconfig pluggy packaging pygments)
"$python" -m pip install -q --no-compile --no-deps --target "$all/site" "${packages[@]}" # NumPy and Pillow are there
touch "$all/site/ai_edge_litert/__init__.py"
rm -rf "$mesa" "$all"/site/bin "$all"/site/OpenGL/GLUT
schema='import importlib.util as u, pathlib; print(pathlib.Path(u.find_spec("ai_edge_litert").origin).with_name("schema_py_generated.py"))'
cp "$(.venv/bin/python -c "$schema")" "$all/site/ai_edge_litert/"

cat >"$all/run.sh" <<'SH'
#!/usr/bin/env bash
# run.sh OUT-FOLDER [campaign.py's options]: writes campaign.json, campaign.pieces.jsonl and findings.tgz there.
here=$(cd "$(dirname "$0")" && pwd) out=$1
shift
ldconfig "$here/mesa/glvnd" 2>/dev/null || true # where PyOpenGL looks
export PYTHONPATH=$here/site PYTHONDONTWRITEBYTECODE=1
campaign=$here/tree/scripts/bench/reliability/campaign.py
python3 "$campaign" --out "$out/campaign.json" --mesa "$here/mesa" --sound "$here/tflite" "$@"
code=$?
if [ -d "$out/campaign-findings" ]; then
    tar -czf "$out/findings.tgz" -C "$out" campaign-findings && rm -r "$out/campaign-findings"
fi
exit $code
SH
chmod +x "$all/run.sh"
tar -C "$work" -c campaign | xz >"$out/tests.tar.xz"
ls -l "$out"
