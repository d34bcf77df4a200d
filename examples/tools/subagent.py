"""An agent that has agents: a tool that is a runtime of its own, with other tools and a limit.

python subagent.py               Offline on scripts of its own; LINNET_PROVIDER=anthropic (say) asks a real model.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from linnet import AsyncContext, AsyncRuntime, LinnetError, ToolFailed, events, frames, tool

PROVIDER = os.environ.get("LINNET_PROVIDER")
CALLS = [{"call": "research", "args": {"question": question}} for question in ("What is here?", "And what is not?")]
CHIEF = {"turns": [[{"text": "I will have that looked into."}, *CALLS], [{"text": "Both have reported."}]]}
SCOUT = {"turns": [[{"call": "ls"}], [{"text": "There is a readme."}]]}


def script(folder: Path, name: str, turns: object) -> Path | None:
    if PROVIDER:
        return None
    path = folder / name
    path.write_text(json.dumps(turns))
    return path


@tool
async def research(question: str, context: AsyncContext) -> str:
    """Have a question about this project looked into by a colleague who can read, but change nothing."""
    # Its conversation is its own; only its last words come back. If this run is aborted, so is that one.
    async with AsyncRuntime(
        provider=PROVIDER,
        script=None if PROVIDER else Path(context.cwd).parent / "scout.json",
        cwd=context.cwd,
        tools=["read", "grep", "find", "ls"],
        max_steps=20,
    ) as scout:
        run = scout.prompt(question)
        async for event in run:
            if isinstance(event, events.ToolCall):
                context.progress(f"  → {event.name}\n")
    if run.result.code:
        raise ToolFailed(run.result.error or run.result.code)
    return run.result.text


async def main() -> int:
    with TemporaryDirectory() as scratch:
        project = Path(scratch, "project")
        project.mkdir()
        (project / "README.md").write_text("# A project\n")
        own = script(Path(scratch), "chief.json", CHIEF)
        script(Path(scratch), "scout.json", SCOUT)  # Once, for both.
        # Both questions are asked in one reply, and both colleagues work at once.
        async with AsyncRuntime(
            provider=PROVIDER, script=own, cwd=project, tools=[research], calls_at_once=4
        ) as runtime:
            async for event in runtime.prompt("What is in this project, and what is missing?"):
                match event:
                    case frames.ToolCall(name=name, args=args):
                        print(f"→ {name}: {args['question']}")
                    case frames.ToolProgress(text=text):
                        print(text, end="")
                    case frames.ToolResult(is_error=is_error, content=[frames.TextBlock(text), *_]):
                        print("✗" if is_error else "✓", text)
                    case frames.AssistantMessage(content=[frames.TextBlock(text), *_]):
                        print(text)
                    case _:
                        pass
    return 0


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main()))
    except LinnetError as error:
        sys.exit(f"subagent.py: {error}")
