#!/usr/bin/env bash
# Builds a VideoCore IV without the board: Mesa's vc4 driver and its no-op DRM shim, from the mesa source package of
# Debian 12. `glsl-infer vc4` and tests/vc4 find it. Once: what is there already is kept. 7 to 15 minutes on 2 cores.
#
#   scripts/vc4/build.sh [DIR]     DIR is ~/.cache/glsl-infer/vc4 unless given; the driver will be DIR/prefix
#
# Only the missing build tools are installed into the system, by apt as root or with sudo; else the line to type is
# printed. scripts/debian_packages.py says which mirror the source comes from.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/glsl-infer/vc4}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
version=22.3.6 # what the patch is made for
export PATH=/usr/bin:/bin:/usr/sbin:/sbin # the system python3 has mako; one of a venv or of /usr/local has not

exec 9>"$dir/lock"
flock 9 # a second one waits, and finds the work done

stamp=$(cat "$here/build.sh" "$here/vc4_noop_shim.patch" "$here/vc4_kernel_shader_validator.h" | sha256sum | cut -d' ' -f1)
if [ "$(cat "$dir/prefix/made-by" 2>/dev/null)" = "$stamp" ]; then
    echo "$dir/prefix: is there already" >&2
    exit 0
fi

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "error: not a Debian system, so its mesa source package cannot be had here; build on one and copy DIR/prefix" >&2
    exit 1
fi
packages="gcc g++ libc6-dev pkg-config ninja-build meson python3-mako bison flex dpkg-dev libdrm-dev zlib1g-dev libexpat1-dev patch
    debian-archive-keyring"
missing=""
for package in $packages; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q "ok installed" || missing="$missing $package"
done
if [ -n "$missing" ]; then
    if [ "$(id -u)" = 0 ]; then
        sudo=""
    elif sudo -n true 2>/dev/null; then
        sudo="sudo"
    else
        echo "build tools are missing; please type:  sudo apt-get install -y --no-install-recommends$missing" >&2
        exit 1
    fi
    echo "installing build tools:$missing" >&2
    $sudo apt-get update -qq
    # shellcheck disable=SC2086
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi

work=$(mktemp -d "$dir/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
log=$dir/build.log
: >"$log"
fail() {
    tail -n 20 "$log" >&2
    echo "error: $1; the whole log is $log" >&2
    exit 1
}

echo "fetching the mesa source package" >&2
"$here/../debian_packages.py" --source "$work" mesa >>"$log" 2>&1 || fail "the mesa source package cannot be fetched"
cd "$work/mesa-$version" 2>/dev/null || fail "the mesa source package is another than $version, for which the patch is made"
patch -p1 <"$here/vc4_noop_shim.patch" >>"$log" 2>&1 || fail "vc4_noop_shim.patch does not apply"
cp "$here/vc4_kernel_shader_validator.h" src/broadcom/drm-shim/

echo "building (log: $log)" >&2
meson setup "$work/build" . --prefix="$dir/prefix" --libdir=lib --buildtype=release -Db_ndebug=true \
    -Dplatforms= -Degl-native-platform=surfaceless -Dgallium-drivers=vc4 -Dvulkan-drivers= \
    -Dopengl=true -Degl=enabled -Dgbm=enabled -Dgles1=disabled -Dgles2=enabled -Dglx=disabled -Ddri3=disabled \
    -Dglvnd=false -Dshared-glapi=enabled -Dllvm=disabled -Dtools=drm-shim -Dvideo-codecs= \
    -Dgallium-va=disabled -Dgallium-vdpau=disabled -Dgallium-xa=disabled -Dgallium-omx=disabled \
    -Dshader-cache=disabled -Dzstd=disabled -Dlibunwind=disabled -Dvalgrind=disabled -Dlmsensors=disabled \
    -Dbuild-tests=false >>"$log" 2>&1 || fail "meson cannot configure the build"
nice ninja -C "$work/build" >>"$log" 2>&1 || fail "the build failed"
DESTDIR="$work/stage" ninja -C "$work/build" install >>"$log" 2>&1 || fail "the build cannot be installed"

# Complete before it gets its name; only the libraries are kept.
made=$work/made
mkdir -p "$made/lib/dri"
cp -L "$work/stage$dir/prefix/lib"/{libEGL.so.1,libGLESv2.so.2,libgbm.so.1,libglapi.so.0,libvc4_noop_drm_shim.so} "$made/lib/"
cp -L "$work/stage$dir/prefix/lib/dri/vc4_dri.so" "$made/lib/dri/"
strip --strip-unneeded "$made"/lib/*.so* "$made"/lib/dri/*.so
echo "$stamp" >"$made/made-by"
rm -rf "$dir/prefix"
mv "$made" "$dir/prefix"
echo "$dir/prefix: built" >&2
