# An extension in plain sh: a frame is a line, and all that is needed of one is its type and its id.
echo '{"type":"hello","name":"changes","version":"1.0.0"}'
echo '{"type":"register_command","name":"changes","description":"Review what was changed since the last commit"}'
echo '{"type":"ready"}'

while IFS= read -r line; do
  case $line in
    '{"type":"command_invoked",'*)
      id=$(printf '%s\n' "$line" | sed 's/^{"type":"command_invoked","id":"\([0-9]*\)".*/\1/')
      prompt='Run git diff HEAD, and review it: mistakes first, then what is missing. Change nothing.'
      echo '{"type":"command_response","id":"'"$id"'","action":"prompt","prompt":"'"$prompt"'"}'
      ;;
    '{"type":"shutdown"}') exit 0 ;;
  esac
done
