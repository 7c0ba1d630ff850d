#!/bin/sh
# The brownout drill [MC-RT-01]: prints each figure beside its limit and writes drill-results/latest.json and latest.html.
# Exit code 0 only where all limits hold. `--help` tells the options, docs/drills.md the rest.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
(cd "$here" && node scripts/setup/prepare.mjs)
exec sh "$here/scripts/node24" "$here/dist/bench/drills/recovery/run.js" "$@"
