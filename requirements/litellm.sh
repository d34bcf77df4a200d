#!/usr/bin/env bash
# The proxy that some tests talk through, into an environment of its own: it needs another version of openai than they do.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x .venv/litellm/bin/python ] || python3 -m venv .venv/litellm
.venv/litellm/bin/python -m pip install --quiet --require-hashes -r requirements/litellm.txt
