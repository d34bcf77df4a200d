"""A command with arguments: `/review main src/` has the model review what changed since `main` in `src/`.

linnet --mode rpc -e examples/extensions/review.py
"""

import shlex

from linnet.extensions.python import Context, Linnet


def extend(linnet: Linnet) -> None:
    strict = linnet.flag("strict", description="reviews look for style, too")

    @linnet.command("review", description="Review what changed: /review [BASE] [PATH …]")
    def review(args: str, ctx: Context) -> None:
        base, *paths = shlex.split(args) or ["HEAD"]
        changed = ctx.exec("git", "diff", "--stat", base, "--", *paths)
        if changed.exit_code != 0:
            ctx.notify(changed.output.strip(), "error")
        elif not changed.output.strip():
            ctx.notify(f"Nothing has changed since {base}.")
        else:
            style = " Point out style, too." if strict else " Leave style alone."
            ctx.say(f"Review the changes since {base}, and say what is wrong.{style}\n\n{changed.output}")
