#!/usr/bin/env bash
# One prompt in pi's protocol, in one line of bash and jq: what the model says goes to stdout, as it comes.
#
# client.sh PROMPT [flags of linnet --mode rpc]
set -o pipefail
jq -nc --arg message "$1" '{id: "1", type: "prompt", $message}' | "${LINNET:-linnet}" --mode rpc --no-session "${@:2}" | jq -n --unbuffered -rj 'foreach (inputs, null) as $f ({failed: "the agent ended before it had answered"}; .said = null | if $f == null then .over = true elif $f.type == "message_update" and $f.assistantMessageEvent.type == "text_delta" then .said = $f.assistantMessageEvent.delta elif $f.success == false then .failed = $f.error elif $f.type == "agent_end" then .failed = ($f.messages[-1] // {} | if .stopReason == "error" then .errorMessage else null end) else . end; if .over then (if .failed then "\(.failed)\n" | halt_error(1) else "\n" end) else .said // empty end)'
