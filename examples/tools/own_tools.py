"""Tools of your own: a plain function, one with a struct that reports progress, and one that is `async def`.

python own_tools.py              Offline on a script of its own; LINNET_PROVIDER=anthropic (say) asks a real model.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

from msgspec import Meta, Struct

from linnet import Context, LinnetError, Runtime, ToolFailed, frames, tool

CUSTOMERS = {"Ada": 12, "Grace": 7}
CALLS = [
    {"call": "lookup", "args": {"name": "Ada"}},
    {"call": "lookup", "args": {"name": "Eve"}},
    {"call": "invoice", "args": {"customer": 12, "lines": ["a loom", "ten punched cards"]}},
    {"call": "rates", "args": {"currencies": ["EUR", "CHF"]}},
]
SCRIPT = {"turns": [[{"text": "I will look her up and write the invoice."}, *CALLS], [{"text": "Done."}]]}


@tool
def lookup(name: Annotated[str, Meta(description="First name, as in the register.")]) -> int:
    """Return the number of a customer."""  # The model reads this, and the annotations; nothing else is needed.
    if name not in CUSTOMERS:
        raise ToolFailed(f"There is no customer called {name}; there are {', '.join(CUSTOMERS)}.")
    return CUSTOMERS[name]


class Invoice(Struct):
    customer: int
    lines: list[str]
    language: Literal["en", "de"] = "en"


@tool
def invoice(order: Invoice, context: Context) -> str:
    """Write an invoice, and return the file it is in."""
    path = Path(context.cwd, f"invoice-{order.customer}.txt")
    for number, line in enumerate(order.lines, 1):
        context.check()  # Ends here if the run is aborted.
        context.progress(f"{number} of {len(order.lines)}\n")
        with path.open("a") as file:
            file.write(f"{number}. {line}\n")
    return path.name


@tool
async def rates(currencies: list[str]) -> dict[str, float]:
    """Ask for exchange rates to the dollar."""

    async def ask(currency: str) -> float:
        await asyncio.sleep(0.01)  # A request to somebody, in real life. An abort cancels it.
        return {"EUR": 1.08, "CHF": 1.13}[currency]

    return dict(zip(currencies, await asyncio.gather(*map(ask, currencies)), strict=True))


def main() -> int:
    provider = os.environ.get("LINNET_PROVIDER")
    with TemporaryDirectory() as folder:
        script = Path(folder, "script.json")
        script.write_text(json.dumps(SCRIPT))
        own = None if provider else script
        # Besides functions, `tools` has the names of those of linnet's own tools that the model may use.
        with Runtime(provider=provider, script=own, cwd=folder, tools=["read", lookup, invoice, rates]) as runtime:
            for event in runtime.prompt("Write an invoice for Ada: a loom, ten punched cards. What is that in euros?"):
                match event:
                    case frames.ToolCall(name=name, args=args):
                        print(f"→ {name} {json.dumps(args)}")
                    case frames.ToolProgress(text=text):
                        print(text, end="")
                    case frames.ToolResult(is_error=is_error, content=[frames.TextBlock(text), *_]):
                        print("✗" if is_error else "✓", text)
                    case frames.AssistantMessage(content=[frames.TextBlock(text), *_]):
                        print(text)
                    case _:
                        pass
        print(Path(folder, "invoice-12.txt").read_text(), end="")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LinnetError as error:
        sys.exit(f"own_tools.py: {error}")
