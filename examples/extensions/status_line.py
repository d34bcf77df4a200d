"""A status line: what the agent is doing, which step it is at, and what the session has cost.

linnet --mode rpc -e examples/extensions/status_line.py
"""

from linnet.extensions.python import AgentEnded, Context, Linnet, MessageEnded, SessionStarted, ToolStarted, TurnStarted


def extend(linnet: Linnet) -> None:
    spent = 0.0

    @linnet.on("session_start")
    def started(event: SessionStarted, ctx: Context) -> None:
        nonlocal spent
        spent = 0.0
        ctx.title(f"linnet in {ctx.cwd}")
        ctx.status("ready")

    @linnet.on("turn_start")
    def thinking(event: TurnStarted, ctx: Context) -> None:
        ctx.status(f"step {event.step}: thinking")

    @linnet.on("tool_execution_start")
    def working(event: ToolStarted, ctx: Context) -> None:
        ctx.status(f"running {event.call.name}")

    @linnet.on("message_end")
    def paid(event: MessageEnded, ctx: Context) -> None:
        nonlocal spent
        usage = getattr(event.message, "usage", None)
        spent += usage.cost.total if usage else 0

    @linnet.on("agent_end")
    def ended(event: AgentEnded, ctx: Context) -> None:
        ctx.status(f"{event.stop}, ${spent:.2f}")
