"""Counts what a page's title shows: the name and the models of a session, what was said and spent, on any branch."""

from datetime import datetime

from msgspec import Struct

from linnet.core.context.cost import Bill
from linnet.core.messages import AssistantMessage, BashRun, Message, ToolResult, Usage, UserMessage, texts
from linnet.core.text.timestamps import parsed
from linnet.export.html.escape import short
from linnet.store.entries import Compacted, Entry, Labelled, Named, Said
from linnet.store.header import Header

AT_ONCE = 1000  # So many usages are added up together.


class PageStats(Struct, frozen=True):
    """What a session comes to."""

    title: str
    start: datetime | None
    prompts: int
    replies: int
    results: int
    models: tuple[str, ...]
    usage: Usage
    labels: dict[str, str]  # By the id of the entry that each is on.
    lasted: float = 0  # Seconds from the earliest entry to the latest.

    @property
    def messages(self) -> int:
        return self.prompts + self.replies + self.results


class Counting:
    """Takes in entries one after another, and then returns PageStats."""

    def __init__(self) -> None:
        self._name = self._opening = ""
        self._prompts = self._replies = self._results = 0
        self._said = False
        self._models: dict[str, None] = {}
        self._bill = Bill()
        self._used: list[Usage] = []  # What is not on the bill yet.
        self._labels: dict[str, str] = {}
        self._first: datetime | None = None  # Of the first entry that has a time.
        self._earliest: datetime | None = None
        self._latest: datetime | None = None

    def add(self, entry: Entry, time: datetime | None) -> None:
        """Take in an entry. `time` is the entry's moment."""
        if time is not None:
            self._add_time(time)
        match entry.content:
            case Said(message):
                self._add_message(message)
            case Compacted(result):
                self._said = True
                self._add_usage(result.total)
            case Named(called):
                self._name = called.strip()
            case Labelled(target, label):
                self._labels[target] = label
            case _:
                pass

    def _add_message(self, message: Message) -> None:
        self._said = True
        if isinstance(message, AssistantMessage):
            self._replies += 1
            self._add_usage(message.usage)
            self._models[message.model] = None
        elif isinstance(message, ToolResult | BashRun):
            self._results += 1
        elif isinstance(message, UserMessage):
            self._prompts += 1
            self._opening = self._opening or short(texts(message.content), 120)

    def stats(self, header: Header) -> PageStats:
        """Return what all entries come to. To be called once, at the end."""
        unnamed = "An unnamed session" if self._said else "An empty session"
        title = short(self._name, 200) or self._opening or unnamed
        labels = {target: label for target, label in self._labels.items() if label.strip()}
        start = parsed(header.timestamp) or self._first
        lasted = (self._latest - self._earliest).total_seconds() if self._latest and self._earliest else 0
        self._bill.add(self._used)
        counts = self._prompts, self._replies, self._results
        return PageStats(title, start, *counts, tuple(filter(None, self._models)), self._bill.total, labels, lasted)

    def _add_usage(self, usage: Usage) -> None:
        self._used.append(usage)
        if len(self._used) >= AT_ONCE:
            self._bill.add(self._used)
            self._used = []

    def _add_time(self, time: datetime) -> None:
        if self._earliest is None or self._latest is None:
            self._first = self._earliest = self._latest = time
        elif time > self._latest:
            self._latest = time
        elif time < self._earliest:
            self._earliest = time
