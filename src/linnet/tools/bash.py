"""The bash tool: runs a command, and tells its output and how it ended in the words of zot or of pi."""

import os
from contextlib import closing
from time import monotonic
from typing import Annotated

from msgspec import Meta, Struct

from linnet.core.messages import Text
from linnet.errors import Cancelled, ToolFailed
from linnet.tools.context import ToolContext
from linnet.tools.spec import ToolOutput, tool
from linnet.tools.text.output import CommandOutput
from linnet.tools.text.truncate import Kept, count_lines

TIMED_OUT = "Command timed out after"


class BashArgs(Struct):
    command: Annotated[str, Meta(min_length=1, description="Shell command to run; may span several lines.")]
    timeout: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(description="Seconds after which the command is killed. Without it there may be no limit."),
    ] = None


@tool(BashArgs)
def bash(args: BashArgs, context: ToolContext) -> ToolOutput:
    """Run a shell command in the working directory and return what it prints, stdout and stderr together.

    Every call is a new shell: directory changes and variables do not carry over. There is no terminal and no input.
    Only the last 2000 lines or 50 KB of output are returned; longer output is kept in a file that the result names.
    A process started with & goes on after the call, but its later output is not seen: redirect it to a file.
    """
    context.cancel.check()
    with closing(CommandOutput(context.progress, folder=context.processes.temporary)) as output:
        return _run(args, context, output)


def _run(args: BashArgs, context: ToolContext, output: CommandOutput) -> ToolOutput:
    """Run the command and return what is told of it, also after an abort. Raises ToolFailed if it cannot be started."""
    started = monotonic()
    timeout = args.timeout or context.bash_timeout
    exit_code: int | None = None
    try:
        finished = context.processes.run(
            context.shell.argv(args.command),
            cwd=context.cwd,
            sink=output,
            cancel=context.cancel,
            timeout=timeout,
            env=context.processes.session_variables(),
        )
    except Cancelled:  # An answer all the same: what it printed until then is worth having.
        status = "[aborted]"
    except OSError as error:
        if not os.path.isdir(context.cwd):
            raise ToolFailed(f"The working directory {context.cwd} no longer exists.") from None
        raise ToolFailed(f"The command could not be started: {error.strerror or error}.") from None
    except ValueError as error:
        raise ToolFailed(f"The command could not be started: {error}.") from None
    else:
        exit_code = as_shells_say(finished.exit_code)
        status = f"[timed out after {timeout:g}s]" if finished.timed_out else f"[exit {exit_code}]"
    seconds = monotonic() - started
    kept = output.finish()
    if context.wording != "zot":
        return _as_pi_says(timeout, output, kept, exit_code, status)
    footer = f"{status}{_whereabouts(output)}  Took {seconds:.1f}s"
    return ToolOutput(
        (Text(_report(args.command, output, kept, footer)),),
        is_error=exit_code != 0,
        details={
            "exit_code": exit_code,
            "seconds": round(seconds, 3),
            "truncated": kept.cut_bytes > 0,
            "full_output_path": output.path,
        },
    )


def _as_pi_says(
    timeout: float | None, output: CommandOutput, kept: Kept, exit_code: int | None, status: str
) -> ToolOutput:
    """Return the result in pi's words."""
    text = kept.text
    if kept.cut_bytes:
        text = f"{text.rstrip()}\n\n{_cut_note(output, kept).rstrip()}{_whereabouts(output)}\n"
    verdict = ""
    if exit_code is None:
        verdict = "Command aborted" if status == "[aborted]" else f"{TIMED_OUT} {timeout:g} seconds"
    elif exit_code:
        verdict = f"Command exited with code {exit_code}"
    if verdict:
        text = f"{text}\n\n{verdict}" if text else verdict
    truncation = {"truncated": True, "totalBytes": output.total} if kept.cut_bytes else None
    details = {"truncation": truncation, "fullOutputPath": output.path, "exitCode": exit_code}
    return ToolOutput((Text(text or "(no output)"),), is_error=exit_code != 0, details=details)


def as_shells_say(exit_code: int | None) -> int | None:
    """Return 128 plus the number of the signal for a shell that a signal ended, as shells do for their commands."""
    return 128 - exit_code if exit_code is not None and exit_code < 0 else exit_code


def _report(command: str, output: CommandOutput, kept: Kept, footer: str) -> str:
    """Return the result in zot's words."""
    parts = [f"$ {command}"]
    if shown := kept.text.rstrip("\n"):
        parts.append(f"{_cut_note(output, kept)}{shown}")
    return "\n\n".join([*parts, footer])


def _cut_note(output: CommandOutput, kept: Kept) -> str:
    """Say which part of the output is shown; nothing if it is all."""
    if not kept.cut_bytes:
        return ""
    shown = len(kept.text.encode())
    what = "the end of a very long line" if kept.partial else f"the last {count_lines(kept.text)} lines"
    return f"[Cut: {what}, {shown} of {output.total} bytes]\n"


def _whereabouts(output: CommandOutput) -> str:
    """Say where all of the output is, or why it is nowhere; nothing if it is not long."""
    if output.path:
        return f" (full output: {output.path})"
    return f" (full output not kept: {output.problem})" if output.problem else ""
