#!/usr/bin/env bash
# fuzz.sh BUILD_DIR SECONDS: runs every fuzz target of BUILD_DIR for SECONDS over its committed corpus, two at a time.
# New inputs go to BUILD_DIR/found/NAME, crashing ones to BUILD_DIR/crashes/. The last line counts the targets.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$1
seconds=$2

fuzz_one() {
  local name=$1 corpus=$root/tests/fuzz/corpus/$1 found=$build/found/$1 log=$build/fuzz_$1.log
  mkdir -p "$found" "$build/crashes" "$corpus"
  if "$build/bin/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
      -artifact_prefix="$build/crashes/$name-" "$found" "$corpus" >"$log" 2>&1; then
    echo "fuzz_$name: passed, $(ls "$corpus" | wc -l) seeds, $(awk '/number_of_executed_units/ {print $2}' "$log") runs"
  else
    echo "fuzz_$name: FAILED: $(grep -m 1 -E 'ERROR|SUMMARY|runtime error' "$log" || tail -n 1 "$log")"
    grep -E '^ *#[0-9]+ |Test unit written' "$log" | head -n 12
    return 1
  fi
}
export -f fuzz_one
export root build seconds

mapfile -t names < <(find "$build/bin" -maxdepth 1 -name 'fuzz_*' -printf '%f\n' 2>/dev/null | sed 's/^fuzz_//' | sort)
[ ${#names[@]} -gt 0 ] || { echo "no fuzz targets in $build/bin"; exit 1; }
rc=0
printf '%s\n' "${names[@]}" | xargs -P 2 -I {} bash -c 'fuzz_one {}' || rc=1
echo "${#names[@]} fuzz targets, $seconds s each"
exit $rc
