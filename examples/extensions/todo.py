"""A list of things to do that the model keeps. It lives in the session, so that after a branch it is what it was there.

linnet --mode rpc -e examples/extensions/todo.py
"""

from typing import Literal

from linnet.extensions.python import Context, Linnet


def extend(linnet: Linnet) -> None:
    def show(ctx: Context) -> str:
        items = ctx.state.get("items", [])
        lines = [f"[{'x' if item['done'] else ' '}] {number}. {item['text']}" for number, item in enumerate(items, 1)]
        ctx.widget(lines or None)
        return "\n".join(lines) or "nothing to do"

    @linnet.tool
    def todo(action: Literal["list", "add", "done", "clear"], ctx: Context, text: str = "", number: int = 0) -> str:
        """Keep a list of things to do: list it, add a text, mark a number as done, or clear it."""
        items = ctx.state.get("items", [])
        if action == "add":
            ctx.state["items"] = [*items, {"text": text, "done": False}]
        elif action == "done":
            if not 1 <= number <= len(items):
                raise ValueError(f"there is no number {number}")
            items[number - 1]["done"] = True
            ctx.state["items"] = items
        elif action == "clear":
            ctx.state["items"] = []
        return show(ctx)

    @linnet.command("todo", description="Show what is left to do")
    def todo_command(args: str, ctx: Context) -> None:
        ctx.notify(show(ctx))
