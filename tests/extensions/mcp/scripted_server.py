"""A server on stdio that behaves as its arguments say, mostly badly. It imports little, so it starts at once."""

import json
import os
import sys
import threading
import time
from typing import Any

BEHAVIOURS = set(sys.argv[1:])
MANY = 25  # Tools in all, ten to a page, for `pages`.
said = threading.Lock()


def say(message: dict[str, Any]) -> None:
    with said:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def note(text: str) -> None:
    """For the test to find: what this server was told."""
    with open("noted.txt", "a") as file:
        file.write(text + "\n")


def tool(name: str, /, **properties: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return {"name": name, "description": f"Does {name}.", "inputSchema": schema}


TOOLS = [tool("echo", text="string"), tool("die"), tool("hang"), tool("fail"), tool("huge", size="integer")]
TOOLS += [tool("progress", steps="integer"), tool("grow"), tool("kinds"), tool("env", name="string"), tool("pid")]
TOOLS += [tool("where")]


def listed(cursor: str | None) -> dict[str, Any]:
    if "pages" in BEHAVIOURS:
        start = int(cursor or 0)
        page = [tool(f"tool{number}") for number in range(start, min(start + 10, MANY))]
        return {"tools": page, **({"nextCursor": str(start + 10)} if start + 10 < MANY else {})}
    if "endless" in BEHAVIOURS:
        return {"tools": [tool(f"tool{cursor or 0}")], "nextCursor": str(int(cursor or 0) + 1)}
    if "wordy" in BEHAVIOURS:
        wordy = {**tool("wordy"), "description": "x" * (30 << 20)}
        odd = {**tool("odd"), "inputSchema": {"type": "object", "title": "y" * (1 << 20)}}
        return {"tools": [wordy, tool("plain"), odd]}
    if "clashes" in BEHAVIOURS:
        return {"tools": [tool("a.b"), tool("a_b"), tool("x" * 80)]}
    return {"tools": TOOLS}


def text(words: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], "isError": is_error}


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
KINDS = [
    {"type": "text", "text": "words"},
    {"type": "image", "data": PIXEL, "mimeType": "image/png"},
    {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
    {"type": "resource", "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "inside"}},
    {"type": "resource_link", "uri": "file:///b.txt", "name": "b", "description": "another"},
]


def call(id: Any, name: str, args: dict[str, Any], token: Any) -> dict[str, Any] | None:
    match name:
        case "echo":
            return text(str(args.get("text")))
        case "die":
            sys.stderr.write("something terrible happened\n")
            sys.stderr.flush()
            os._exit(3)
        case "hang":
            note("hanging")
            return None
        case "fail":
            return text("it did not work", is_error=True)
        case "huge":
            return text("x" * args["size"])
        case "progress":
            for step in range(1, args["steps"] + 1):
                params = {"progressToken": token, "progress": step, "total": args["steps"], "message": f"step {step}"}
                say({"method": "notifications/progress", "params": params})
                time.sleep(float(os.environ.get("PACE", "0")))
            return text("done")
        case "grow":
            TOOLS.append(tool("grown"))
            say({"method": "notifications/tools/list_changed"})
            return text("grown")
        case "kinds":
            return {"content": KINDS, "structuredContent": {"a": 1}}
        case "env":
            return text(os.environ.get(args["name"], "(not set)"))
        case "where":
            return text(os.getcwd())
        case "pid":
            return text(str(os.getpid()))
        case _:
            return text("as you wish")


def answer(request: dict[str, Any]) -> None:
    id, method, params = request.get("id"), request.get("method"), request.get("params") or {}
    match method:
        case "initialize" if "modern" in BEHAVIOURS:
            data = {"supported": ["2026-07-28"], "requested": params["protocolVersion"]}
            say({"id": id, "error": {"code": -32022, "message": "no handshake here", "data": data}})
            return
        case "server/discover" if "modern" in BEHAVIOURS:
            result: Any = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        case "initialize":
            offered = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}
            result = {"protocolVersion": params["protocolVersion"], "capabilities": offered}
            result["serverInfo"] = {"name": "scripted", "version": "1"}
        case "tools/list":
            result = listed(params.get("cursor"))
        case "prompts/list":
            arguments = [{"name": "who", "required": True}, {"name": "how"}]
            result = {"prompts": [{"name": "greet", "description": "Greets.", "arguments": arguments}]}
        case "prompts/get":
            words = f"Greet {params['arguments']['who']} {params['arguments'].get('how', 'kindly')}."
            result = {"messages": [{"role": "user", "content": {"type": "text", "text": words}}]}
        case "resources/list":
            result = {"resources": [{"uri": "note://1", "name": "first note"}]}
        case "resources/read":
            result = {"contents": [{"uri": params["uri"], "text": "remember the milk"}]}
        case "tools/call":
            token = (params.get("_meta") or {}).get("progressToken")
            result = call(id, params["name"], params.get("arguments") or {}, token)
            if result is None:
                return
        case "notifications/cancelled":
            note(f"cancelled {params['requestId']}")
            return
        case _:
            if id is not None:
                say({"id": id, "error": {"code": -32601, "message": f"no method {method}"}})
            return
    if "modern" in BEHAVIOURS:
        result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
    if "id-last" in BEHAVIOURS:
        say({"result": result, "id": id})
    else:
        say({"id": id, "result": result})


if "slow" in BEHAVIOURS:
    while not os.path.exists("go"):
        time.sleep(0.01)
if "noisy" in BEHAVIOURS:
    print("Welcome to the scripted server!", flush=True)
if "broken" in BEHAVIOURS:
    sys.exit("no configuration found")
if "holds-stdout" in BEHAVIOURS and os.fork() == 0:
    time.sleep(600)
for line in sys.stdin:
    if "silent" not in BEHAVIOURS:
        threading.Thread(target=answer, args=(json.loads(line),), daemon=True).start()
