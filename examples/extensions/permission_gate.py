"""A permission gate with rules: some commands never run, some only if you say so.

linnet --mode rpc -e examples/extensions/permission_gate.py
"""

import re

from linnet.extensions.python import Context, Decision, Linnet, ToolCalling

NEVER = re.compile(r"\brm\s+-\w*r|\bmkfs\b|>\s*/dev/sd|\bsudo\b")
ASK = re.compile(r"\bgit\s+push\b|\bcurl\b.*\|\s*(ba)?sh|\brm\b")
PROTECTED = (".env", ".git/", "secrets/")


def extend(linnet: Linnet) -> None:
    @linnet.on("tool_call")
    def guard(event: ToolCalling, ctx: Context) -> Decision | None:
        if event.tool == "bash":
            command = event.args.get("command", "")
            if NEVER.search(command):
                return linnet.block(f"This is never run here: {command}")
            if ASK.search(command) and not ctx.confirm("Run this?", command):
                return linnet.block("The user said no.")
        elif event.tool in ("write", "edit"):
            path = event.args.get("path", "")
            if any(part in path for part in PROTECTED):
                return linnet.block(f"{path} is protected. Say what you would change instead.")
        return None
