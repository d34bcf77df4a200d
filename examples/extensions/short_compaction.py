"""A compaction without a model: what the user asked for, and the end of the last answer.

linnet --mode rpc -e examples/extensions/short_compaction.py
"""

from linnet.extensions.python import Context, Decision, Linnet, SessionCompacting


def extend(linnet: Linnet) -> None:
    @linnet.on("session_before_compact")
    def summarise(event: SessionCompacting, ctx: Context) -> Decision:
        asked: list[str] = []
        answer = ""
        for message in event.messages:
            text = " ".join(part.text for part in getattr(message, "content", ()) if hasattr(part, "text"))
            if type(message).__name__ == "UserMessage":
                asked.append(text)
            elif type(message).__name__ == "AssistantMessage" and text:
                answer = text
        lines = [*(f"- {line}" for line in asked), "", "Last answer:", answer[-2000:]]
        return linnet.replace(summary="\n".join(["The user asked for:", *lines]))
