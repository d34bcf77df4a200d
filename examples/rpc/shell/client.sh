#!/usr/bin/env bash
# Drive linnet from a shell: send one prompt, stream the answer. Needs bash (3.2 will do) and jq (1.6 or later).
#
# client.sh [--image FILE] [--ask] PROMPT [-- flags of linnet rpc]
set -u

usage() { echo "usage: client.sh [--image FILE] [--ask] PROMPT [-- flags of linnet rpc]" >&2; exit 2; }
fail() { echo "client: $1" >&2; exit 1; }

image= ask=
while :; do
  case ${1-} in
    --image)
      [ $# -ge 2 ] || usage
      image=$2
      shift 2
      ;;
    --ask) ask=1; shift ;;
    *) break ;;
  esac
done
[ $# -ge 1 ] || usage
case $1 in -*) usage ;; esac
prompt=$1
shift
[ $# -eq 0 ] || [ "$1" = -- ] || usage
[ $# -eq 0 ] || shift
[ -z "$image" ] || [ -r "$image" ] || fail "cannot read $image"

# One jq for the whole conversation turns each frame into two strings that end in NUL, which bash reads without any
# quoting: what it is, and what to show. It knows the protocol; the loop below knows the screen.
frames='
  def line: split("\n")[0] // "";
  if   .type == "text_delta"    then ["say", .delta]
  elif .type == "tool_call"     then ["note", "→ \(.name) \(.args | tojson | .[:100])"]
  elif .type == "tool_progress" then ["progress", .text]
  elif .type == "tool_result"   then ["note", (if .is_error then "✗ " else "✓ " end)
                                      + ([.content[] | select(.type == "text").text | line][0] // "[image]")]
  elif .type == "question" or .type == "tool_request" then ["question", tojson]
  elif .type == "usage"         then ["usage", (.cumulative | "\(.input) tokens in, \(.output) out, $\(
                                      .cost_usd * 10000 | round / 10000)\(
                                      if .cost_known == false then " + ?" else "" end)")]
  # One model call. What counts is how the last one went.
  elif .type == "turn_end"      then ["problem", .error // {aborted: "the turn was aborted",
                                      length: "the answer was cut at the model'\''s output limit"}[.stop] // ""]
  elif .type == "error"         then ["problem", .message]
  elif .type == "response"      then if .success then empty
                                     # An answer that came too late: nobody waits for it any more.
                                     elif .command == "answer" or .command == "tool_response" then
                                       ["note", "client: \(.command): \(.error)"]
                                     else ["refused", "\(.command): \(.error)"] end
  elif .type == "done"          then ["done", ""]
  else empty  # News we do not need. The protocol only grows, so ignore what you do not know.
  end | map(split("\u0000") | join("") + "\u0000") | add'

# What to show of a question, or of a call of our own tool; and what to answer, if somebody typed a reply.
shown='
  if .type == "tool_request" then "? \(.args.question)"
  else ["? \(.title)", ((.permission.preview // .message) | select(. != null and . != "")),
        (.options // [] | to_entries[] | "  \(.key + 1) \(.value)")] | join("\n") end'
answer='
  .request_id as $request_id
  | if .type == "tool_request" then
      {type: "tool_response", $request_id, content: ($reply // "Nobody is here to answer."), is_error: ($reply == null)}
    else
      {type: "answer", $request_id} + (
        if $reply == null then {cancelled: true} # No answer is a no.
        elif .method == "confirm" then {confirmed: ($reply == "y" or $reply == "yes")}
        elif .method == "select" then
          (($reply | tonumber? // 0) as $n | if $n > 0 then .options[$n - 1] else null end) as $value
          | if $value == null then {cancelled: true} else {$value} end
        else {value: $reply} end)
    end'
# A tool that is run here, and not by the agent. With --ask, the model is offered it.
ask_user='{name: "ask_user", description: "Ask the person who is at the keyboard.", parameters: {
  type: "object", properties: {question: {type: "string"}}, required: ["question"]}}'

pipes=$(mktemp -d) || exit 1
mkfifo "$pipes/in" "$pipes/out" || exit 1
set -m # Job control gives the agent a process group of its own: the terminal's Ctrl-C is for us, not for it.
"${LINNET:-linnet}" rpc "$@" <"$pipes/in" | jq --unbuffered -j "$frames" >"$pipes/out" &
set +m
exec 3>"$pipes/in" 4<"$pipes/out"
rm -r "$pipes"

send() { jq -nc "$@" 2>/dev/null >&3; } # If the agent has died or was finished, the loop below will know.

# No need to wait for an answer in between: commands are taken in order, and a refusal shows up below.
if [ -n "${ZOTCORE_RPC_TOKEN-}" ]; then
  send '{id: "1", type: "hello", token: env.ZOTCORE_RPC_TOKEN}'
fi
if [ -n "$ask" ]; then
  send "{id: \"4\", type: \"set_tools\", tools: [$ask_user]}"
fi
if [ -n "$image" ]; then
  mime=${image##*.}
  mime=image/${mime/jpg/jpeg}
  base64 <"$image" | tr -d '\n' | send -R --arg message "$prompt" --arg mime "$mime" \
    '{id: "2", type: "prompt", $message, images: [{mime_type: $mime, data: (first(inputs) // "")}]}'
else
  send --arg message "$prompt" '{id: "2", type: "prompt", $message}'
fi

interrupted=
abort() {
  interrupted=1
  trap - INT # A second Ctrl-C ends us, which closes the agent's pipes.
  exec </dev/null # Nobody is asked any more.
  send '{id: "3", type: "abort"}'
}
trap abort INT

# The answer goes to stdout as it comes, everything else to stderr, and never both on one line.
unfinished= # Where the line that was begun last has not ended yet: 1, 2 or nowhere.
end_line() {
  [ -z "$unfinished" ] || echo >&"$unfinished"
  unfinished=
}
write() { # TO TEXT BEFORE AFTER
  [ -n "$2" ] || return
  [ "$unfinished" = "$1" ] || end_line
  printf '%s' "$3$2$4" >&"$1"
  unfinished=$1
  case $2 in *$'\n') unfinished= ;; esac
}
note() { end_line; printf '%s\n' "$1" >&2; }
dim= plain=
[ -t 2 ] && dim=$'\e[2m' plain=$'\e[0m'

finished= problem= spent=
while IFS= read -r -d '' -u 4 what && IFS= read -r -d '' -u 4 text; do
  case $what in
    say) write 1 "$text" "" "" ;;
    progress) write 2 "$text" "$dim" "$plain" ;;
    note) note "$text" ;;
    question)
      note "$(jq -r "$shown" <<<"$text")"
      if IFS= read -r reply; then
        jq -c --arg reply "$reply" "$answer" <<<"$text" >&3
      elif [ -z "$interrupted" ]; then
        jq -c --argjson reply null "$answer" <<<"$text" >&3
      fi
      ;;
    usage) spent=$text ;;
    problem) problem=$text ;;
    refused)
      problem=$text
      exec 3>&-
      ;;
    done)
      finished=1
      exec 3>&- # Without more input the agent exits, its output ends, and so does this loop.
      ;;
  esac
done
wait

end_line
[ -n "$finished" ] || problem=${problem:-the agent ended before it was done}
[ -z "$problem" ] || note "client: $problem"
[ -z "$spent" ] || note "$spent"
[ -z "$interrupted" ] || [ -z "$finished" ] || exit 130
[ -z "$problem" ]
