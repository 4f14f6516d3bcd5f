#!/usr/bin/env bash
# Builds a VideoCore IV without the board: Mesa's vc4 driver and its no-op DRM shim, from Debian's mesa source package.
# `glsl-infer vc4` and tests/vc4 find it.
#
#   scripts/vc4/build.sh                          Mesa 22.3.6 and 25.0.7; nothing where both are there already
#   scripts/vc4/build.sh --suite bookworm [DIR]   Mesa 22.3.6 of Debian 12, into DIR/prefix
#   scripts/vc4/build.sh --suite trixie [DIR]     Mesa 25.0.7 of Debian 13, into DIR/prefix-25
#
# Each takes about 5 minutes of CPU time: only the vc4 driver is built, and little of it is optimised.
#
# DIR is ~/.cache/glsl-infer/vc4 by default. Each suite builds on either release. Without --suite and DIR, a driver that
# ../shared/vc4 has is not built again.
#
# Only missing build tools are installed into the system, by apt as root or with sudo; else the command to type is
# printed. Meson comes from pip, into a folder that is deleted, because Debian 12's is too old for Mesa 25.
# scripts/build/debian_packages.py says which mirror the source comes from.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
suites="bookworm trixie"
dir=""
while [ $# -gt 0 ]; do
    case $1 in
    --suite)
        suites=${2:-}
        [ $# -eq 1 ] || shift
        ;;
    --suite=*) suites=${1#*=} ;;
    -*)
        echo "error: unknown option $1; the beginning of $0 has a list" >&2
        exit 2
        ;;
    *) dir=$1 ;;
    esac
    shift
done
case $suites in
bookworm | trixie | "bookworm trixie") ;;
*)
    echo "error: --suite '$suites'; choose bookworm or trixie" >&2
    exit 2
    ;;
esac
shared=""
[ "$dir$suites" = "bookworm trixie" ] && shared=$here/../../../shared/vc4
dir=${dir:-${XDG_CACHE_HOME:-$HOME/.cache}/glsl-infer/vc4}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
export PATH=/usr/bin:/bin:/usr/sbin:/sbin # the system's python3, whatever virtual environment is active

exec 9>"$dir/lock"
flock 9 # a second process waits and finds the work done

# Sets, for a suite: version, patch, prefix, the driver's file in it, and Meson options of that version alone.
choose() {
    if [ "$1" = bookworm ]; then
        version=22.3.6 patch=vc4_noop_shim.patch prefix=prefix gallium=dri/vc4_dri.so
        options="-Dglvnd=false -Ddri3=disabled -Dgallium-omx=disabled"
    else
        version=25.0.7 patch=vc4_noop_shim_25.patch prefix=prefix-25 gallium=libgallium-25.0.7.so
        options="-Dglvnd=disabled"
    fi
    stamp=$(cat "$here/build.sh" "$here/$patch" "$here/vc4_kernel_shader_validator.h" | sha256sum | cut -d' ' -f1)
}

missing_suites=""
for suite in $suites; do
    choose "$suite"
    if [ "$(cat "$dir/$prefix/made-by" 2>/dev/null)" = "$stamp" ]; then
        echo "$dir/$prefix: is there already" >&2
    elif [ -n "$shared" ] && [ -f "$shared/$prefix/lib/$gallium" ]; then
        echo "$(cd "$shared" && pwd)/$prefix: is there already" >&2
    else
        missing_suites="$missing_suites $suite"
    fi
done
[ -n "$missing_suites" ] || exit 0

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "error: this is not Debian, whose mesa source package is needed; build on Debian and copy $dir/$prefix" >&2
    exit 1
fi
packages="gcc g++ libc6-dev pkg-config ninja-build python3-venv bison flex dpkg-dev libdrm-dev zlib1g-dev libexpat1-dev patch
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

python3 -m venv "$work/venv" >>"$log" 2>&1 || fail "python3 cannot make a virtual environment"
# Mesa 22 asks for distutils, which Python has up to 3.11, and setuptools since.
"$work/venv/bin/pip" install --quiet "meson>=1.1" mako packaging pyyaml setuptools >>"$log" 2>&1 || fail "pip cannot fetch Meson"
export PATH=$work/venv/bin:$PATH

build() {
    local source=$work/mesa-$version build=$work/build-$version
    echo "fetching the source of Mesa $version" >&2
    "$here/../build/debian_packages.py" --suite "$suite" --source "$work" mesa >>"$log" 2>&1 ||
        fail "the mesa source package of $suite cannot be fetched"
    cd "$source" 2>/dev/null || fail "$suite has another mesa source package than $version, for which the patch is made"
    patch -p1 <"$here/$patch" >>"$log" 2>&1 || fail "$patch does not apply"
    cp "$here/vc4_kernel_shader_validator.h" src/broadcom/drm-shim/

    echo "building Mesa $version (log: $log)" >&2
    # Compilers since GCC 14 refuse by default what Mesa 22 was written with.
    # shellcheck disable=SC2086
    meson setup "$build" "$source" --prefix="$dir/$prefix" --libdir=lib --buildtype=plain -Doptimization=0 -Db_ndebug=true \
        -Dc_args="-w -fpermissive" -Dcpp_args=-w \
        -Dplatforms= -Degl-native-platform=surfaceless -Dgallium-drivers=vc4 -Dvulkan-drivers= \
        -Dopengl=true -Degl=enabled -Dgbm=enabled -Dgles1=disabled -Dgles2=enabled -Dglx=disabled \
        -Dshared-glapi=enabled -Dllvm=disabled -Dtools=drm-shim -Dvideo-codecs= \
        -Dgallium-va=disabled -Dgallium-vdpau=disabled -Dgallium-xa=disabled \
        -Dshader-cache=disabled -Dzstd=disabled -Dlibunwind=disabled -Dvalgrind=disabled -Dlmsensors=disabled \
        -Dbuild-tests=false $options >>"$log" 2>&1 || fail "Meson cannot configure the build"
    # The QPU code is the same whatever the driver itself is optimised. Only code in which it spends its time is.
    sed -i -E '/^build src\/(compiler\/nir|util|broadcom|gallium\/drivers\/vc4)\//,/^$/ s/^( ARGS = .*) -O0 /\1 -O1 /' "$build/build.ninja"
    nice ninja -C "$build" >>"$log" 2>&1 || fail "the build failed"
    DESTDIR="$work/stage" ninja -C "$build" install >>"$log" 2>&1 || fail "the build cannot be installed"

    # Complete before it gets its name; only the libraries are kept.
    local made=$work/made-$version stage=$work/stage$dir/$prefix/lib
    mkdir -p "$(dirname "$made/lib/$gallium")"
    for name in libEGL.so.1 libGLESv2.so.2 libgbm.so.1 libglapi.so.0 libvc4_noop_drm_shim.so "$gallium"; do
        [ ! -e "$stage/$name" ] || cp -L "$stage/$name" "$made/lib/$name"
    done
    # Programs that look for libEGL.so first find the system's, where its development files are installed.
    ln -s libEGL.so.1 "$made/lib/libEGL.so"
    ln -s libGLESv2.so.2 "$made/lib/libGLESv2.so"
    strip --strip-unneeded "$made"/lib/*.so.* "$made/lib/$gallium" "$made/lib/libvc4_noop_drm_shim.so"
    echo "$stamp" >"$made/made-by"
    rm -rf "${dir:?}/$prefix"
    mv "$made" "$dir/$prefix"
    rm -rf "$source" "$build"
    echo "$dir/$prefix: built" >&2
}

for suite in $missing_suites; do
    choose "$suite"
    build
done
