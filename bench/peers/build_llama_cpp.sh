#!/bin/bash
# Builds llama.cpp, the engine that Folio's speed is compared with, from the source package of
# `llama-cpp-python`, and the small measuring program beside this script (llama_bench.cc); with
# --server its HTTP server too, which takes some ten minutes more.
#
# usage: bench/peers/build_llama_cpp.sh            then bench/compare.py uses what it built
#        bench/peers/build_llama_cpp.sh --server   then bench/serving/compare_serving.py does
#
#   FOLIO_PEERS   where sources and builds are kept (default: build/peers in the tree)
#   JOBS          compile jobs (default: all cores)
#
# The compiler is clang 19: GCC 12 declares too small an input for _tile_loadconfig, so that a
# native GCC build may crash on machines with AMX. Nothing is installed; a second call is a no-op.
set -euo pipefail

server=0
case ${1:-} in
"") ;;
--server) server=1 ;;
*) echo "usage: build_llama_cpp.sh [--server]" >&2 && exit 2 ;;
esac

version=0.3.36
sha256=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
here=$(cd "$(dirname "$0")" && pwd)
peers=${FOLIO_PEERS:-$here/../../build/peers}
jobs=${JOBS:-$(nproc)}
mkdir -p "$peers"
peers=$(cd "$peers" && pwd)
package=llama_cpp_python-$version
source_dir=$peers/$package/vendor/llama.cpp
build_dir=$peers/llama-build

for tool in clang++-19 cmake ninja python3 sha256sum; do
  command -v "$tool" >/dev/null || { echo "build_llama_cpp.sh: $tool is not installed" >&2; exit 1; }
done

if [ ! -f "$source_dir/CMakeLists.txt" ]; then
  if [ ! -f "$peers/$package.tar.gz" ]; then
    [ -x "$peers/venv/bin/pip" ] || python3 -m venv "$peers/venv"
    # pip reads a source package's metadata with its build backend, which it fetches by itself.
    "$peers/venv/bin/pip" download --quiet --no-deps --no-binary llama-cpp-python \
      --dest "$peers" "llama-cpp-python==$version"
  fi
  echo "$sha256  $peers/$package.tar.gz" | sha256sum --check --quiet
  tar -xzf "$peers/$package.tar.gz" -C "$peers" --exclude='*/.git/*'
fi

if ! grep -qs '^LLAMA_BUILD_SERVER:BOOL=ON' "$build_dir/CMakeCache.txt" || [ ! -f "$build_dir/build.ninja" ]; then
  cmake -S "$source_dir" -B "$build_dir" -G Ninja -Wno-dev \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 \
    -DGGML_NATIVE=ON -DGGML_OPENMP=OFF -DGGML_LLAMAFILE=ON -DGGML_CCACHE=OFF -DBUILD_SHARED_LIBS=OFF \
    -DLLAMA_BUILD_COMMON=ON -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_TOOLS=ON -DLLAMA_BUILD_SERVER=ON \
    -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_OPENSSL=OFF \
    -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF >"$peers/configure.log" 2>&1
fi
targets=(llama)
[ $server -eq 0 ] || targets+=(llama-server)
ninja -C "$build_dir" -j "$jobs" "${targets[@]}" >"$peers/build.log" || { tail -30 "$peers/build.log" >&2; exit 1; }

bench=$peers/llama_bench
if [ ! -x "$bench" ] || [ "$here/llama_bench.cc" -nt "$bench" ]; then
  mapfile -t archives < <(find "$build_dir/src" "$build_dir/ggml" -name 'lib*.a' | sort)
  clang++-19 -O2 -std=c++17 -I"$source_dir/include" -I"$source_dir/ggml/include" \
    "$here/llama_bench.cc" -Wl,--start-group "${archives[@]}" -Wl,--end-group \
    -lpthread -ldl -lm -o "$bench"
fi
echo "$bench"
[ $server -eq 0 ] || echo "$build_dir/bin/llama-server"
