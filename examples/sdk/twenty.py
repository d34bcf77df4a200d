"""Twenty agents at once, in one process: each in a folder of its own, each with a time limit, and one bill in the end.

python twenty.py [COUNT]         Offline on the scripted model; LINNET_PROVIDER=anthropic (say) asks a real one.
"""

import asyncio
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from linnet import AsyncRuntime, LinnetError, Result, events

PROVIDER = os.environ.get("LINNET_PROVIDER", "scripted")
LIMIT = 120.0  # Seconds that one may take.


async def work(name: str, folder: Path) -> Result[None]:
    """Nothing here blocks the loop, so the agents of a web server can live in it, too."""
    async with (
        AsyncRuntime(provider=PROVIDER, cwd=folder) as runtime,
        asyncio.timeout(LIMIT),  # Leaving a run in any way aborts it.
        runtime.prompt("Write a small program and run it.") as run,
    ):
        async for event in run:
            match event:
                case events.ToolCall(name=tool):
                    print(f"{name} → {tool}")
                case events.RetryStart(attempt=attempt, error=error):
                    print(f"{name} tries again ({attempt}): {error}")
                case _:
                    pass
        return run.result


async def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with TemporaryDirectory() as scratch:
        folders = {f"agent {number:02}": Path(scratch, str(number)) for number in range(1, count + 1)}
        for folder in folders.values():
            folder.mkdir()
        done = await asyncio.gather(*map(work, folders.keys(), folders.values()), return_exceptions=True)
        failed = 0
        for name, result in zip(folders, done, strict=True):
            if isinstance(result, LinnetError | TimeoutError):
                failed += 1
                print(f"{name} ✗ {str(result) or 'took too long'}")
            elif isinstance(result, BaseException):
                raise result
            else:
                failed += result.code is not None
                print(f"{name} {'✗' if result.code else '✓'} {result.steps} steps: {result.error or result.text}")
    results = [result for result in done if isinstance(result, Result)]
    tokens = sum(result.usage.input + result.usage.output for result in results)
    known = [result.cost for result in results if result.cost is not None]
    more = "" if len(known) == len(results) else " + ?"  # Not every price is known.
    print(f"\n{len(done) - failed} of {count} done, {tokens} tokens, ${sum(known):.4f}{more}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
