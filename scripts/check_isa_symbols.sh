#!/usr/bin/env bash
# check_isa_symbols.sh BUILD_DIR: object files of one ISA (*_avx2.cc, *_avx512.cc, ...) must not define weak or unique
# symbols. An inline function of a shared header that is emitted there is AVX code under a name that the linker may
# pick for the whole program, and an older CPU then crashes on it.
set -euo pipefail
build=$1
mapfile -t objects < <(find "$build" -path "$build/house_tests" -prune -o -regextype posix-extended -regex '.*_(avx2|avxvnni|avx512|amx)\.cc\.o' -print | sort)
bad=0
for object in "${objects[@]}"; do
  # W, V, w, v: weak; u: unique. The personality reference is data of the compiler's own, the same in every object.
  found=$(nm -C --defined-only "$object" | awk '$2 ~ /^[WVwvu]$/' | grep -v ' DW\.ref\.' || true)
  if [ -n "$found" ]; then
    bad=1
    echo "isa symbols: ${object#"$build"/} defines shared inline code:"
    sed 's/^[0-9a-f]*/ /' <<<"$found"
  fi
done
echo "isa symbols: ${#objects[@]} object files checked"
exit $bad
