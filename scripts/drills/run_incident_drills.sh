#!/bin/sh
# A retry storm, fraud at twice its capacity and a killed PostgreSQL, each beside a load of cards. `--help` tells the options.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
(cd "$here" && node scripts/setup/prepare.mjs)
exec sh "$here/scripts/node24" "$here/dist/bench/drills/incidents/run.js" "$@"
