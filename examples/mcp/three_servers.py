"""An agent with three MCP servers that others wrote: a clock and git from PyPI, a memory from npm.

pip install 'linnet-agent[mcp]' mcp-server-time mcp-server-git
npm install --global @modelcontextprotocol/server-memory
python three_servers.py          Offline on a scripted model; LINNET_PROVIDER=anthropic (say) asks a real one.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from linnet import LinnetError, Runtime, frames

HERE = Path(__file__).parent


def main() -> int:
    provider = os.environ.get("LINNET_PROVIDER", "scripted")
    script = HERE / "script.json" if provider == "scripted" else None
    failed = 0
    with TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "--quiet", folder], check=True)
        # The same file works as `linnet rpc --mcp-config mcp.json`, or as `mcp.json` in the folder LINNET_HOME.
        with Runtime(
            provider=provider, script=script, cwd=folder, mcp_config=[HERE / "mcp.json"], mcp_wait=60
        ) as runtime:
            for event in runtime.prompt("What time is it, what is in this repository? Remember that linnets sing."):
                match event:
                    case frames.ToolCall(name=name):
                        print(f"→ {name}")
                    case frames.ToolResult(is_error=is_error, content=[frames.TextBlock(text), *_]):
                        failed += is_error
                        print("✗" if is_error else "✓", " ".join(text.split())[:100])
                    case frames.AssistantMessage(content=[frames.TextBlock(text), *_]):
                        print(text)
                    case _:
                        pass
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LinnetError as error:
        sys.exit(f"three_servers.py: {error}")
