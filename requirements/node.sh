#!/usr/bin/env bash
# pi's own clients and MCP servers that others wrote, which some tests talk to, into .venv/node and .venv/mcp. Without npm
# those tests skip and say so.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v npm >/dev/null; then
  echo "Not installed: npm. The tests that drive pi's own clients or servers from npm will skip; with CI set they fail." >&2
  exit 0
fi
install() {
  mkdir -p "$2"
  cp "$1/package.json" "$1/package-lock.json" "$2/"
  (cd "$2" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null)
}
install tests/pi/clients .venv/node
install tests/extensions/mcp/npm .venv/mcp
touch .venv/.node # Only now, so that npm is looked for again if it was not there.
