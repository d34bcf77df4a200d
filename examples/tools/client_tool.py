"""A tool that the client runs, over a pipe: the agent is another process, and asks.

python client_tool.py            Offline on a script of its own; LINNET_PROVIDER=anthropic (say) asks a real model.
"""

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from linnet.client import ClientError, ZotClient, zot

STOCK = {"loom": 3, "punched card": 12_000}
TOOL = {
    "name": "stock",
    "description": "Say how many of something are in stock.",
    "parameters": {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]},
}
CALLS = [{"call": "stock", "args": {"item": item}} for item in ("loom", "spinning jenny")]
SCRIPT = {"turns": [[{"text": "Let me ask."}, *CALLS], [{"text": "Three looms are left."}]]}


def stock(item: str) -> tuple[str, bool]:
    """What the model is told, and whether it is bad news."""
    return (str(STOCK[item]), False) if item in STOCK else (f"We have no such thing as a {item}.", True)


def main() -> int:
    with TemporaryDirectory() as folder:
        script = Path(folder, "script.json")
        script.write_text(json.dumps(SCRIPT))
        provider = os.environ.get("LINNET_PROVIDER")
        flags = ["--provider", provider] if provider else ["--script", str(script)]
        with ZotClient([os.environ.get("LINNET", "linnet"), "rpc", "--no-tools", *flags], cwd=folder) as agent:
            agent.set_tools([TOOL])
            for event in agent.prompt("How many looms do we have? And spinning jennies?"):
                match event:
                    case zot.ToolRequest(request_id=id, name="stock", args=args):
                        print(f"? stock {args['item']}")
                        agent.tool_response_progress(id, "counting\n")
                        text, is_error = stock(args["item"])
                        agent.tool_response(id, text, is_error=is_error)
                    case zot.ToolRequestClosed():
                        print("never mind")  # Aborted, or too late. Whatever is still being counted is of no use.
                    case zot.ToolProgress(text=text):
                        print(text, end="")
                    case zot.ToolResult(is_error=failed, content=[zot.TextBlock(text), *_]):
                        print("✗" if failed else "✓", text)
                    case zot.AssistantMessage(content=[zot.TextBlock(text), *_]):
                        print(text)
                    case _:
                        pass
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ClientError as error:
        sys.exit(f"client_tool.py: {error}")
