#!/usr/bin/env bash
# What some tests drive: pi's own clients, into .venv/node, and pi itself, into .venv/pi. Without npm those tests skip
# and say so.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v npm >/dev/null; then
  echo "Not installed: npm. The tests that drive pi and its clients will skip; with CI set they fail." >&2
  exit 0
fi
mkdir -p .venv/node
cp tests/pi/clients/package.json tests/pi/clients/package-lock.json .venv/node/
(cd .venv/node && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null)
# Its optional packages are for terminals, and not all of them can be had.
mkdir -p .venv/pi
cp tests/client/pi/package.json tests/client/pi/package-lock.json .venv/pi/
(cd .venv/pi && npm ci --omit=optional --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null)
touch .venv/.node # Only now, so that npm is looked for again if it was not there.
