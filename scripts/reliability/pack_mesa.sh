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
for name in libz3.so.4 libxml2.so.2; do
    gcc -shared -Wl,-soname,$name -o "$work/mesa/lib/$name" -x c /dev/null
done
cat >"$work/mesa/egl.json" <<'JSON'
{"file_format_version": "1.0.0", "ICD": {"library_path": "libEGL_mesa.so.0"}}
JSON
tar -C "$work" -c mesa | xz -4 >"$out"
ls -l "$out"
