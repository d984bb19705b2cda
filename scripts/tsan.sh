#!/usr/bin/env bash
# Runs the tests of the runtime under ThreadSanitizer, by hand: it needs a nightly toolchain with the source of the standard
# library, which is built with the sanitizer too.
#
#     rustup toolchain install nightly --profile minimal --component rust-src
#     scripts/tsan.sh                     # the tests that matter, some hundred random programs
#     DRAWLOOM_CASES=5000 scripts/tsan.sh random
#
# A report is an error, and none is suppressed: with a standard library that was built with the sanitizer too, it says nothing
# wrong of this code, although it does not know fences. On a machine that has much else to do, tests that wait at most some
# seconds for an error may fail without a report, as everything takes ten times as long here; run these again alone.
set -euo pipefail
cd "$(dirname "$0")/.."

tests=("$@")
((${#tests[@]})) || tests=(engine plan failing trace random)
host=$(rustc -vV | sed -n 's/^host: //p')
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/tsan
export DRAWLOOM_CASES=${DRAWLOOM_CASES:-400}
export TSAN_OPTIONS="halt_on_error=0 exitcode=66 history_size=4 allocator_may_return_null=1 ${TSAN_OPTIONS:-}"
# Frames of the standard library say little without lines of our own.
export RUSTFLAGS="-Zsanitizer=thread ${RUSTFLAGS:-}"

flags=()
for test in "${tests[@]}"; do
    flags+=(--test "$test")
done
# The sanitizer keeps a stack of its own of 65,536 calls, which the first test overflows: it nests waits as deep as memory allows.
# The second needs a member of a team to be asleep most of the time, between looks of half a millisecond that take as long as its sleep
# here.
cargo +nightly test -Zbuild-std --target "$host" --locked -p drawloom-runtime --no-fail-fast "${flags[@]}" -- --test-threads=2 \
    --skip tasks_may_wait_inside_of_each_other_as_deep_as_they_like \
    --skip a_member_that_looks_now_and_then
