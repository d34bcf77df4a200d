#!/usr/bin/env python3
"""One prompt in pi's protocol, with the standard library alone: a process, and `json.loads` for each line.

client.py PROMPT [flags of linnet --mode rpc]
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any


class Agent:
    def __init__(self, flags: list[str]) -> None:
        command = [os.environ.get("LINNET", "linnet"), "--mode", "rpc", "--no-session", *flags]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, command: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()

    def events(self) -> Iterator[dict[str, Any]]:
        """Bytes, not text: lines end at LF and nowhere else."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield json.loads(line)

    def end(self) -> None:
        """Nothing more will be sent: the agent finishes what was asked, and ends."""
        assert self.process.stdin is not None
        self.process.stdin.close()


def main(prompt: str, flags: list[str]) -> int:
    try:
        agent = Agent(flags)
    except OSError as error:
        print(f"client: {error}", file=sys.stderr)
        return 1
    failure = "the agent ended before it had answered"
    try:
        agent.send({"id": "1", "type": "prompt", "message": prompt})
        for event in agent.events():
            if event["type"] == "response" and not event["success"]:
                failure = event["error"]
                agent.end()
            if event["type"] == "message_update" and event["assistantMessageEvent"]["type"] == "text_delta":
                print(event["assistantMessageEvent"]["delta"], end="", flush=True)
            if event["type"] == "tool_execution_start":
                print(f"\n[{event['toolName']}]", file=sys.stderr)
            if event["type"] == "agent_end":
                print()
                last = event["messages"][-1] if event["messages"] else {}
                failure = last.get("errorMessage", "") if last.get("stopReason") == "error" else ""
                agent.end()  # What was asked is finished first: a run that failed may be tried again; the last counts.
    except BrokenPipeError:  # It died before it read; its stderr has said why.
        with suppress(BrokenPipeError):
            agent.end()
    except KeyboardInterrupt:
        agent.send({"type": "abort"})
        agent.end()
        failure = "aborted"
    agent.process.wait()
    if failure:
        print(f"client: {failure}", file=sys.stderr)
    return 1 if failure else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: client.py PROMPT [flags of linnet --mode rpc]")
    sys.exit(main(sys.argv[1], sys.argv[2:]))
