#!/usr/bin/env bash
# check_isa_symbols_test.sh COMPILER WORK_DIR: check_isa_symbols.sh accepts an ISA file whose helpers are its own and
# refuses one that emits an inline function which other files could share.
set -euo pipefail
compiler=$1
work=$2/isa_symbols
check=$(dirname "${BASH_SOURCE[0]}")/check_isa_symbols.sh
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT

compile() { "$compiler" -O1 -x c++ -c - -o "$work/op_avx2.cc.o"; }

compile <<<'namespace { [[gnu::noinline]] int Own(int x) { return x + 1; } } int OpAvx2(int x) { return Own(x); }'
bash "$check" "$work" >"$work/log" || { echo "an ISA file with helpers of its own was refused"; cat "$work/log"; exit 1; }

compile <<<'template <typename T> [[gnu::noinline]] T Shared(T x) { return x + 1; } int OpAvx2(int x) { return Shared(x); }'
if bash "$check" "$work" >"$work/log"; then echo "a shared inline function passed"; exit 1; fi
grep -q 'op_avx2.cc.o defines shared inline code' "$work/log"
grep -q 'Shared' "$work/log"
