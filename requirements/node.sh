#!/usr/bin/env bash
# What some tests talk to: pi's own clients, into .venv/node, pi itself, into .venv/pi, MCP servers that others wrote, into
# .venv/mcp, and an emulator of vendors' APIs, into .venv/aimock. Without npm those tests skip and say so.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v npm >/dev/null; then
  echo "Not installed: npm. The tests that drive pi, its clients, MCP servers or an emulator of vendors' APIs will skip; with CI set they fail." >&2
  exit 0
fi
# Each is kept for as long as its lock file is the same: what changes for one is no reason to install the others again.
install() {
  cmp -s "$1/package-lock.json" "$2/.installed" && return
  mkdir -p "$2"
  cp "$1/package.json" "$1/package-lock.json" "$2/"
  (cd "$2" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error "${@:3}" >/dev/null)
  cp "$1/package-lock.json" "$2/.installed" # Only now: what was interrupted is installed again.
}
install tests/pi/clients .venv/node
install tests/client/pi .venv/pi --omit=optional # Those are for terminals, and not all of them can be had.
install tests/extensions/mcp/npm .venv/mcp
install tests/providers/npm .venv/aimock
touch .venv/.node # Only now, so that npm is looked for again if it was not there.
