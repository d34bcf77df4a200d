#!/usr/bin/env bash
# One prompt from a shell, in one line of bash and jq: what the model says goes to stdout, as it comes.
#
# one-liner.sh PROMPT [flags of linnet rpc]
set -o pipefail
jq -nc --arg message "$1" '{id: "1", type: "prompt", $message}' | "${LINNET:-linnet}" rpc "${@:2}" | jq -n --unbuffered -rj 'foreach (inputs, null) as $f ({}; .said = null | if $f == null then .over = true elif $f.type == "text_delta" then .said = $f.delta elif $f.type == "error" then .failed = $f.message elif $f.success == false then .failed = $f.error elif $f.type == "done" then .done = true else . end; if .over then (if .failed or (.done | not) then "\(.failed // "the agent ended before it was done")\n" | halt_error(1) else "\n" end) else .said // empty end)'
