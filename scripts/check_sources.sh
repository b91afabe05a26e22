#!/usr/bin/env bash
# check_sources.sh: house rules that no compiler knows. Formatting by clang-format, files of at most 600 lines ("a file
# past that is two rooms"), no marks of unfinished work, and shell scripts that parse.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rc=0
mapfile -t sources < <(find src apps bridge include tests bench -name '*.cc' -o -name '*.h' -o -name '*.cpp' 2>/dev/null | sort)
clang-format-19 --dry-run -Werror "${sources[@]}" || rc=1
for file in "${sources[@]}"; do
  lines=$(wc -l <"$file")
  [ "$lines" -le 600 ] || { echo "$file: $lines lines, more than 600"; rc=1; }
done
! grep -nE '\b(TODO|FIXME|XXX|HACK)\b' "${sources[@]}" || rc=1
for script in run test .ci/run scripts/*.sh; do bash -n "$script" || rc=1; done
echo "${#sources[@]} files checked"
exit $rc
