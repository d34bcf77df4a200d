"""Two agents in two folders at once, on one event loop. A runtime is one conversation; have as many as you like.

python async_two.py              Offline on the scripted model; LINNET_PROVIDER=anthropic (say) asks a real one.
"""

import asyncio
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from linnet import AsyncRuntime, LinnetError, frames

PROVIDER = os.environ.get("LINNET_PROVIDER", "scripted")


async def work(name: str, folder: Path) -> str:
    """Returns the last thing the agent said."""
    said: list[str] = []
    async with AsyncRuntime(provider=PROVIDER, cwd=str(folder)) as runtime:
        async for event in runtime.prompt("Write a small program and run it."):
            match event:
                case frames.AssistantStart():
                    said.clear()
                case frames.TextDelta(text):
                    said.append(text)
                case frames.ToolCall(name=tool):
                    print(f"{name}: → {tool}")
                case frames.ToolResult(is_error=is_error):
                    print(f"{name}: {'✗' if is_error else '✓'}")
                case frames.Error(message):
                    raise LinnetError(message)
                case _:
                    pass
    return "".join(said)


async def main() -> None:
    with TemporaryDirectory() as scratch:
        folders = {name: Path(scratch, name) for name in ("left", "right")}
        for folder in folders.values():
            folder.mkdir()
        # If one of them fails, the group cancels the other, and cancelling a task aborts its agent.
        async with asyncio.TaskGroup() as group:
            tasks = {name: group.create_task(work(name, folder)) for name, folder in folders.items()}
        for name, task in tasks.items():
            print(f"\n{name}: {task.result()}")
            print(f"{name}: left behind {', '.join(sorted(path.name for path in folders[name].iterdir()))}")


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except* LinnetError as errors:
        sys.exit("\n".join(f"async_two.py: {error}" for error in errors.exceptions))
