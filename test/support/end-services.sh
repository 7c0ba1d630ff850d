#!/bin/sh
# Ends what a test run left: PostgreSQL, Redis and servers recorded under its folder, then the folder itself.
# With a second argument it first waits until that process, the test runner, is gone: so an interrupted or killed run
# leaves nothing behind either.
folder=$1
runner=$2

alive() { [ -e "/proc/$1" ] && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null; }

if [ -n "$runner" ]; then
  while alive "$runner" && [ -d "$folder" ]; do sleep 1; done
fi
[ -d "$folder" ] || exit 0

for file in "$folder"/worker-*/servers/*; do
  pid=${file##*/}
  # A number may belong to another process by now.
  grep -q 'dist/src/main.js' "/proc/$pid/cmdline" 2>/dev/null && kill -KILL "$pid" 2>/dev/null
done
for file in "$folder"/worker-*/postgres/postmaster.pid "$folder"/worker-*/own-*/postgres/postmaster.pid \
  "$folder"/worker-*/redis/redis.pid "$folder"/worker-*/own-*/redis/redis.pid; do
  [ -e "$file" ] || continue
  read -r pid <"$file"
  [ "$(readlink "/proc/$pid/cwd")" = "$(readlink -f "${file%/*}")" ] || continue
  # SIGQUIT makes a postmaster take its children along; a frozen process must be woken to hear it.
  for child in $(cat "/proc/$pid/task/$pid/children" 2>/dev/null); do kill -CONT "$child" 2>/dev/null; done
  case $file in
    *postmaster.pid) kill -QUIT "$pid" && kill -CONT "$pid" ;;
    *) kill -KILL "$pid" ;;
  esac
  tries=0
  while alive "$pid" && [ "$tries" -lt 100 ]; do
    sleep 0.05
    tries=$((tries + 1))
  done
done
rm -rf "$folder"
