#!/usr/bin/env bash
# What some tests talk to: pi's own clients and its newest version, into .venv/node, pi of other times with all it needs,
# into .venv/pi, a Node that is new enough for them, into .venv/node24 and as .venv/bin/node24, MCP servers that others
# wrote, into .venv/mcp, an emulator of vendors' APIs, into .venv/aimock, a client of editors' protocol, into .venv/acp,
# and judges of schemas, into .venv/schemas. Without npm those tests skip and say so.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v npm >/dev/null; then
  echo "Not installed: npm. The tests that drive pi, its clients, MCP servers, an emulator of vendors' APIs or judges of schemas will skip; with CI set they fail." >&2
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
install tests/pi/node .venv/node24
for node in .venv/node24/node_modules/node-*; do # One, or none: not every machine has its own in the lock file.
  [ -x "$node/bin/node" ] || continue
  rm -rf "$node/include" # A third of it, for those who compile.
  ln -sf "../${node#.venv/}/bin/node" .venv/bin/node24
done
install tests/client/pi .venv/pi --omit=optional # Those are for terminals, and not all of them can be had.
install tests/extensions/mcp/npm .venv/mcp
install tests/providers/npm .venv/aimock
install tests/acp/npm .venv/acp
install tests/clients_js/runtimes .venv/runtimes # Bun and Deno.
# The TypeScript client is compiled where it is, and looks there for what it is compiled with.
install clients/js .venv/js
ln -sfn ../../.venv/js/node_modules clients/js/node_modules
install tests/schemas/npm .venv/schemas
touch .venv/.node # Only now, so that npm is looked for again if it was not there.
