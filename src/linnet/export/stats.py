"""What a session comes to: its name, its models, what was said and spent, on whatever branch."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from linnet.core.cost import total
from linnet.core.messages import AssistantMessage, BashRun, ToolResult, Usage, UserMessage, texts
from linnet.core.timestamps import parsed
from linnet.export.escape import short
from linnet.export.figures import moment
from linnet.store.entries import Compacted, Entry, Labelled, Named, Said
from linnet.store.header import Header


class Stats(Struct, frozen=True):
    """`labels` are by the id of the entry that they are on. `lasted`: seconds from the first entry to the last."""

    title: str
    start: datetime | None
    prompts: int
    replies: int
    results: int
    models: tuple[str, ...]
    usage: Usage
    labels: dict[str, str]
    lasted: float = 0

    @property
    def messages(self) -> int:
        return self.prompts + self.replies + self.results


def stats(header: Header, entries: Sequence[Entry]) -> Stats:
    name = first = ""
    prompts = replies = results = 0
    models: dict[str, None] = {}
    used: list[Usage] = []
    labels: dict[str, str] = {}
    for entry in entries:
        match entry.content:
            case Named(called):
                name = called.strip()
            case Labelled(target, label):
                labels[target] = label
            case Compacted(result):
                used.append(result.total)
            case Said(UserMessage(content)):
                prompts += 1
                first = first or short(texts(content), 120)
            case Said(AssistantMessage() as reply):
                replies += 1
                used.append(reply.usage)
                if reply.model:
                    models[reply.model] = None
            case Said(ToolResult() | BashRun()):
                results += 1
            case _:
                pass
    start = next((time for time in (parsed(header.timestamp), *map(moment, entries)) if time is not None), None)
    said = any(isinstance(entry.content, Said | Compacted) for entry in entries)
    title = short(name, 200) or first or ("An unnamed session" if said else "An empty session")
    told = {target: label for target, label in labels.items() if label.strip()}
    times = [time for time in map(moment, entries) if time is not None]
    lasted = (max(times) - min(times)).total_seconds() if times else 0
    return Stats(title, start, prompts, replies, results, tuple(models), total(used), told, lasted)
