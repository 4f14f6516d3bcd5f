#!/usr/bin/env bash
# Packs this machine's Mesa (llvmpipe, softpipe) with all that it loads, for one without it:
#
#     scripts/reliability/pack_mesa.sh .gl/mesa.tar.xz      # some 30 MB
#     tar -xf mesa.tar.xz && campaign.py --mesa mesa ...    # there; needs glibc 2.36 or newer
#
# libz3 and libxml2, with 50 MB of ICU, are empty: LLVM has them for what Mesa does not use.
set -euo pipefail
out=$(realpath "$1") lib=/usr/lib/x86_64-linux-gnu work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/mesa/lib" "$work/mesa/dri"
cp -L "$lib/dri/swrast_dri.so" "$work/mesa/dri/"
roots=("$lib/libEGL_mesa.so.0" "$lib/libEGL.so.1" "$lib/libGLESv2.so.2")
cp -L "${roots[@]}" "$work/mesa/lib/"
ldd "${roots[@]}" "$lib/dri/swrast_dri.so" | awk '$2 == "=>" { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libpthread|libdl|librt|libicu[a-z]*|libz3|libxml2)\.so' | xargs -I{} cp -L {} "$work/mesa/lib/"
needs=$(nm -D --undefined-only "$lib/libLLVM-15.so.1" | awk '/ (Z3_|xml)/ { print $2 }')
stub() { # what LLVM takes from a library, all of it empty: NAME PATTERN
    grep -E "$2" <<<"$needs" | sed 's/@.*//; s/.*/void *(*&)(void);/' >"$work/stub.c"
    grep -E "$2.*@" <<<"$needs" | awk -F@ '{ of[$2] = of[$2] " " $1 ";" } END { for (v in of) print v " {" of[v] " };" }' >"$work/stub.map" || true
    gcc -shared -fPIC -s "-Wl,-soname,$1" ${3:+"-Wl,--version-script=$work/stub.map"} -o "$work/mesa/lib/$1" "$work/stub.c"
}
stub libz3.so.4 '^Z3_'
stub libxml2.so.2 '^xml' versions
cat >"$work/mesa/egl.json" <<'JSON'
{"file_format_version": "1.0.0", "ICD": {"library_path": "libEGL_mesa.so.0"}}
JSON
tar -C "$work" -c mesa | xz -4 >"$out"
ls -l "$out"
