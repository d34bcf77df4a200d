"""Say no to a tool: rules for what is always right or always wrong, and a function for the rest.

python permission.py             Offline on a script of its own; LINNET_PROVIDER=anthropic (say) asks a real model.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from linnet import AsyncRuntime, LinnetError, ToolCall, frames

RULES = ["allow read", "allow bash:ls", "allow edit:src/**", "deny bash:rm"]  # The last one that fits wins.
CALLS = [
    {"call": "bash", "args": {"command": "ls"}},
    {"call": "bash", "args": {"command": "ls; rm -rf ."}},
    {"call": "bash", "args": {"command": "echo hello > greeting"}},
    {"call": "write", "args": {"path": "notes.txt", "content": "one\ntwo\n"}},
]
SCRIPT = {"turns": [[{"text": "Let me see."}, *CALLS], [{"text": "Done, as far as I may."}]]}


async def permit(call: ToolCall, preview: str) -> bool | str:
    """Asked about whatever no rule decides, before anything happens. `preview` is the command, the diff, or what else
    there is to show. It may take its time: ask a person, a service, a policy. An abort cancels it.
    """
    print(f"? {call.name}: {preview.splitlines()[0]}")
    await asyncio.sleep(0)
    if call.name == "bash":
        return "Commands that change something are run by people here; say what you would have run."
    return True  # `False` is a no without a reason. So is a function that fails.


async def main() -> int:
    provider = os.environ.get("LINNET_PROVIDER")
    with TemporaryDirectory() as folder:
        script = Path(folder, "script.json")
        script.write_text(json.dumps(SCRIPT))
        own = None if provider else script
        async with AsyncRuntime(provider=provider, script=own, cwd=folder, permission=permit, rules=RULES) as runtime:
            async for event in runtime.prompt("Tidy up, and leave a note."):
                match event:
                    case frames.ToolResult(is_error=is_error, content=[frames.TextBlock(text), *_]):
                        print("✗" if is_error else "✓", text.partition("\n")[0])
                    case frames.AssistantMessage(content=[frames.TextBlock(text), *_]):
                        print(text)
                    case _:
                        pass
        print(sorted(path.name for path in Path(folder).iterdir()))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main()))
    except LinnetError as error:
        sys.exit(f"permission.py: {error}")
