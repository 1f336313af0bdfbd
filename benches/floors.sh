#!/bin/sh
# Prints what the tool promises about speed and memory as ratios against floors measured in the same run.
# Names of single benchmarks may be given: nothing_to_do dry_run real_run memory large_files growth.
# ROUNDS=N sets how often each side runs (7); both sides take turns, and the medians are compared.
cd "$(dirname "$0")/.." && exec cargo bench --locked --quiet --bench promises -- "$@"
