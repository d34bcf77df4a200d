#!/usr/bin/env bash
# Rewrites the lock files from the .in files. Needs a registry; uses an environment of its own.
set -euo pipefail
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch"
"$scratch/bin/pip" install --quiet pip-tools
for name in runtime build dev; do
  CUSTOM_COMPILE_COMMAND="make lock" "$scratch/bin/pip-compile" --quiet --upgrade --generate-hashes --allow-unsafe \
    --strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --output-file "$name.txt" "$name.in"
done
