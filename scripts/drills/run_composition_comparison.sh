#!/bin/sh
# The same brownout on a shared pool, a shared semaphore and a bulkhead for each lane. `--help` tells the options.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
(cd "$here" && node scripts/setup/prepare.mjs)
exec sh "$here/scripts/node24" "$here/dist/bench/drills/comparison/run.js" "$@"
