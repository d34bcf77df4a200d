"""linnet in your own process: send a prompt, watch it work, ask what it cost.

python basic.py [PROMPT]         Offline on the scripted model; LINNET_PROVIDER=anthropic (say) asks a real one.
"""

import json
import os
import sys
from tempfile import TemporaryDirectory

from linnet import LinnetError, Runtime, frames


def main() -> int:
    prompt = sys.argv[1] if len(sys.argv) > 1 else "Write a small program and run it."
    provider = os.environ.get("LINNET_PROVIDER", "scripted")
    ended = ""
    # Your project's folder goes where the scratch folder is. More keywords, such as the model: see linnet.Config.
    with TemporaryDirectory() as folder, Runtime(provider=provider, cwd=folder) as runtime:
        for event in runtime.prompt(prompt):
            match event:
                case frames.TextDelta(text):
                    print(text, end="", flush=True)
                case frames.AssistantMessage():
                    print()
                case frames.ToolCall(name=name, args=args):
                    print(f"→ {name} {json.dumps(args, ensure_ascii=False)[:100]}")
                case frames.ToolResult(is_error=is_error, content=[frames.TextBlock(text), *_]):
                    print("✗" if is_error else "✓", text.partition("\n")[0])
                case frames.TurnEnd(stop):
                    ended = stop  # The last one says how it all went.
                case frames.Error(message):
                    print(message, file=sys.stderr)
                case _:
                    pass
        cost = runtime.cost()
        more = "" if cost.cost_known else " + ?"  # Not every price is known.
        print(f"\n{ended}: {cost.input} tokens in, {cost.output} out, ${cost.cost_usd:.4f}{more}")
    return 0 if ended == "end_turn" else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LinnetError as error:  # Every failure that is not a bug is one of these, and its text is for people.
        sys.exit(f"basic.py: {error}")
