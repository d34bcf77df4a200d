"""A git commit, on no branch, before the model changes a file; `/undo` puts the files back as they were before that.

linnet --mode rpc -e examples/extensions/git_checkpoint.py
"""

from linnet.extensions.python import Context, Linnet, ToolCalling


def extend(linnet: Linnet) -> None:
    def git(ctx: Context, *args: str) -> str:
        ran = ctx.exec("git", *args)
        if ran.exit_code != 0:
            raise RuntimeError(f"git {args[0]}: {ran.output.strip()}")
        return ran.output.strip()

    @linnet.on("tool_call")
    def checkpoint(event: ToolCalling, ctx: Context) -> None:
        if event.tool not in ("write", "edit") or ctx.exec("git", "rev-parse", "HEAD").exit_code != 0:
            return
        made = git(ctx, "stash", "create") or git(ctx, "rev-parse", "HEAD")
        ctx.state["checkpoints"] = [*ctx.state.get("checkpoints", []), made]
        ctx.status(f"checkpoint {made[:8]}")

    @linnet.command("undo", description="Put the files back as they were before the last change")
    def undo(args: str, ctx: Context) -> None:
        checkpoints = ctx.state.get("checkpoints", [])
        if not checkpoints:
            ctx.notify("There is no checkpoint.", "warning")
            return
        git(ctx, "checkout", checkpoints[-1], "--", ".")
        ctx.state["checkpoints"] = checkpoints[:-1]
        ctx.notify(f"Back at {checkpoints[-1][:8]}.")
