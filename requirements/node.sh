#!/usr/bin/env bash
# pi's own clients, which some tests drive, into .venv/node. Without npm those tests skip and say so.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v npm >/dev/null; then
  echo "Not installed: npm. The tests that drive pi's own clients will skip; with CI set they fail." >&2
  exit 0
fi
mkdir -p .venv/node
cp tests/pi/clients/package.json tests/pi/clients/package-lock.json .venv/node/
(cd .venv/node && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null)
touch .venv/.node # Only now, so that npm is looked for again if it was not there.
