#!/usr/bin/env bash
# Tests the tests: draws mutants of the source by a seed, and runs the tests of the crate on each. A mutant is a small change
# of one function, such as an operator replaced or a body that returns a constant; a test should fail because of it.
#
#     cargo install --locked cargo-mutants
#     scripts/mutants.sh 1                  # 12 mutants of each of five crates, drawn by seed 1
#     scripts/mutants.sh 1 12 runtime mesh  # of these crates only
#
# It works on a copy of the last commit under target/mutants, so the source here can be edited meanwhile. Every result is
# kept in target/mutants/SEED/results.tsv, and a run that was stopped goes on after the last one. Mutants that do not
# compile do not count, and one is drawn in place of each. A test that runs for too long has noticed its mutant as well.
set -euo pipefail
cd "$(dirname "$0")/.."

seed=${1:?a seed}
count=${2:-12}
crates=("${@:3}")
((${#crates[@]})) || crates=(graph runtime stream mesh tensor)

top=$PWD/target/mutants
tree=$top/tree
results=$top/$seed/results.tsv
mkdir -p "$top/$seed"
touch "$results"
if [[ ! -e $tree ]]; then
    git worktree prune
    git worktree add --quiet --detach "$tree" HEAD
fi
# A seed stands for the mutants of one revision.
revision=$top/$seed/revision
[[ -e $revision ]] || git rev-parse HEAD >"$revision"
git -C "$tree" checkout --quiet --force --detach "$(cat "$revision")"
export CARGO_TARGET_DIR=$top/build

# Code that the default features do not compile, and the shim for the model checkers.
left_out=(--exclude '**/hwloc.rs' --exclude '**/hdf5.rs' --exclude '**/metis.rs' --exclude '**/sync/**')

# The crates whose tests are run for a crate. Programs for the tests of tensor graphs are made by the crate of models.
tests_of() {
    case $1 in
        tensor) echo drawloom-tensor,drawloom-onnx ;;
        *) echo "drawloom-$1" ;;
    esac
}

# The mutants of a crate in an order that depends on the seed only.
drawn() { # crate
    cargo mutants --dir "$tree" --list --json --line-col=true --package "drawloom-$1" "${left_out[@]}" |
        python3 -c '
import json, random, sys
names = sorted(mutant["name"] for mutant in json.load(sys.stdin))
random.Random(sys.argv[1]).shuffle(names)
print("\n".join(names))' "$seed $1"
}

# What became of one mutant: caught, missed, timeout or unviable.
outcome() { # crate mutant
    local out=$top/$seed/last
    rm -rf "$out"
    # The pattern of exactly this name, and its file: mutants that leave out a field of a struct are not filtered by name.
    local pattern
    pattern=$(python3 -c 'import re, sys; print("^" + re.escape(sys.argv[1]) + "$")' "$2")
    cargo mutants --dir "$tree" --in-place --baseline skip --timeout 900 --build-timeout 1800 --output "$out" \
        --package "drawloom-$1" --test-package "$(tests_of "$1")" --file "${2%%:*}" --re "$pattern" \
        >"$top/$seed/last.log" 2>&1 || true
    python3 - "$out/mutants.out/outcomes.json" "$2" <<'PYTHON'
import json, sys
kinds = {"CaughtMutant": "caught", "MissedMutant": "missed", "Timeout": "timeout", "Unviable": "unviable"}
for outcome in json.load(open(sys.argv[1]))["outcomes"]:
    if outcome["scenario"]["Mutant"]["name"] == sys.argv[2]:
        print(kinds[outcome["summary"]])
        break
else:
    sys.exit(f"no outcome for {sys.argv[2]}")
PYTHON
}

for crate in "${crates[@]}"; do
    drawn "$crate" >"$top/$seed/drawn"
    viable=$(awk -F'\t' -v crate="$crate" '$1 == crate && $2 != "unviable"' "$results" | wc -l)
    while IFS= read -r mutant; do
        ((viable < count)) || break
        if cut -f 3 "$results" | grep --quiet --line-regexp --fixed-strings -- "$mutant"; then continue; fi
        became=$(outcome "$crate" "$mutant")
        printf '%s\t%s\t%s\n' "$crate" "$became" "$mutant" | tee -a "$results"
        [[ $became == unviable ]] || viable=$((viable + 1))
    done <"$top/$seed/drawn"
done

caught=$(grep --count --perl-regexp '^\S+\t(caught|timeout)\t' "$results" || true)
missed=$(grep --count --perl-regexp '^\S+\tmissed\t' "$results" || true)
echo "seed $seed: $caught of $((caught + missed)) mutants caught"
