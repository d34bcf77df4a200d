"""A guard in Python, without linnet and without packages: it is asked before each call of a tool.

If it hangs, crashes or says something that makes no sense, the call is denied.
"""

import json
import re
import sys
from typing import Any

REFUSED = [
    (re.compile(r"\bgit\s+push\b.*(--force|-f\b)"), "nothing is pushed with force from here"),
    (re.compile(r"\brm\s+-\w*r\w*\s+/(\s|$)"), "the root of the file system stays"),
]


def send(**frame: Any) -> None:
    print(json.dumps(frame), flush=True)


def judged(tool: str, args: dict[str, Any]) -> dict[str, Any]:
    """What is to be said about a call: nothing lets it pass."""
    command = args.get("command", "") if tool == "bash" else ""
    for pattern, reason in REFUSED:
        if pattern.search(command):
            return {"block": True, "reason": f"Refused: {reason}."}
    if re.match(r"npm install\b(?!.*--ignore-scripts)", command):
        return {"modified_args": {**args, "command": f"{command} --ignore-scripts"}}
    return {}


def main() -> None:
    send(type="hello", name="guard", version="1.0.0")
    send(type="subscribe", intercept=["tool_call"])
    send(type="ready")
    for line in sys.stdin:
        frame = json.loads(line)
        if frame["type"] == "event_intercept":
            verdict = judged(frame["tool_name"], frame["tool_args"])
            send(type="event_intercept_response", id=frame["id"], **verdict)
            if "block" in verdict:
                send(type="notify", level="warn", message=verdict["reason"])


main()
