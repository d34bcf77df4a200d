"""Reads the event stream of OpenAI's Responses API as deltas.

A reply is a list of items: thoughts, messages and calls. Events name an item by its place in the list; the event that
ends an item has it whole, and what the vendor wants back is taken from there.
"""

from collections.abc import Sequence

from msgspec import DecodeError, Raw, Struct, field

from linnet.core.context.cost import counted
from linnet.core.deltas import (
    CallDelta,
    CallOpened,
    CallSigned,
    Delta,
    PartClosed,
    ReplyOpened,
    Stopped,
    TextDelta,
    TextSigned,
    ThinkingDelta,
    ThinkingSigned,
    UsageReported,
)
from linnet.core.messages import Usage
from linnet.decoding import decoder_of
from linnet.errors import ModelRefused, ProviderError, ProviderRejected
from linnet.providers.call_ids import unused
from linnet.providers.http.vendor_errors import Fault, cut_short, ended_oddly, from_fault
from linnet.providers.openai_responses.items import message_signature, reasoning_item
from linnet.providers.openai_responses.stream_events import (
    ArgumentsPart,
    Bare,
    Completed,
    Failed,
    Failure,
    Incomplete,
    InputDetails,
    Item,
    ItemAdded,
    ItemDone,
    RefusalPart,
    Response,
    SummaryPart,
    TextPart,
    ThoughtPart,
    Tokens,
    Wire,
)

_POLICIES = frozenset(
    (
        "invalid_prompt",
        "bio_policy",
        "misalignment_policy_violation",
        "image_content_policy_violation",
        "content_filter",
    )
)
_SHOWN = 400  # So many characters of a refusal stand in the error; all of them are in the text of the reply.
_PARAGRAPH = "\n\n"
_NONE = (-1, -1)


_decode = decoder_of(Wire).decode
_decode_item = decoder_of(Item).decode
_decode_bare = decoder_of(Bare).decode


class _Open(Struct):
    """An item that has begun."""

    kind: str
    call_id: str = ""
    heard: bool = False  # Some of it was streamed.
    section: tuple[str, int] | None = None  # The part of a thought that came last: summary or raw, and which.
    closed: bool = False


class _Heard(Struct):
    """The parts of the reply so far."""

    items: dict[int, _Open] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)  # Of all calls.
    last: int = -1  # The item whose part was begun last.
    thoughts: int = 0
    unsigned: dict[str, int] = field(default_factory=dict)  # Thoughts whose items were not whole, by the items' ids.
    refusal: str = ""


class Reader:
    """Reads one reply.

    Invariant: `feed` returns what came before a failure, so that no word is lost; then `failure` says why the reply
    ends, or `finished` that it is whole.
    """

    def __init__(self, provider: str = "openai") -> None:
        self.finished = False
        self.failure: ProviderError | None = None
        self._provider = provider
        self._opened = False
        self._heard = _Heard()
        self._text = -1  # The message that text was last added to.
        self._call = -1  # The same for arguments, and the id of the call.
        self._call_id = ""
        self._summary = _NONE  # The part of a thought's summary that was last added to, by its item and place.

    def feed(self, payloads: Sequence[bytes]) -> list[Delta]:
        deltas: list[Delta] = []
        add = deltas.append
        begun = self._opened
        for payload in payloads:
            if self.finished or self.failure:
                break
            try:
                event = _decode(payload)
            except (DecodeError, UnicodeDecodeError, RecursionError):
                self._odd(payload)  # The API gets new kinds of events before linnet knows them.
                continue
            if isinstance(event, TextPart):
                if event.output_index != self._text:
                    self._begin_text(event.output_index, deltas)
                add(TextDelta(event.delta))
            elif isinstance(event, ArgumentsPart):
                if event.output_index != self._call:
                    self._begin_arguments(event.output_index)
                if self._call_id and event.delta:
                    add(CallDelta(self._call_id, event.delta))
            elif isinstance(event, SummaryPart) and (event.output_index, event.summary_index) == self._summary:
                add(ThinkingDelta(event.delta))
            else:
                self._take(event, deltas)
        if not begun and (deltas or self._opened):
            self._opened = True
            deltas.insert(0, ReplyOpened())
        return deltas

    def end(self, cut: ProviderError | None = None) -> list[Delta]:
        """Take the end of the body. A reply without one of the three last events has failed."""
        if not self.finished and self.failure is None:
            self.failure = cut or cut_short(self._provider)
        return []

    def _take(self, event: Wire, deltas: list[Delta]) -> None:
        self._summary = _NONE
        match event:
            case SummaryPart(delta, index, summary):
                self._think(index, ("summary", summary), delta, deltas)
                if self._heard.last == index and not self._heard.items[index].closed:
                    self._summary = index, summary
            case ThoughtPart(delta, index, content):
                self._think(index, ("raw", content), delta, deltas)
            case RefusalPart(delta, index):
                self._begin_text(index, deltas)
                self._heard.refusal += delta
                deltas.append(TextDelta(delta))
            case ItemAdded(raw, index):
                self._opened = True
                self._begin(index, _item(raw), deltas)
            case ItemDone(raw, index):
                self._opened = True
                self._finish_item(index, raw, deltas)
            case Completed(response):
                self._close(response, "completed", deltas)
            case Incomplete(response):
                self._close(response, "incomplete", deltas)
            case Failed(response):
                self._close(response, "failed", deltas)
            case Failure(code, message, error):
                self.failure = self._fault(Fault(code=code, message=message) if error is None else error)
            case TextPart() | ArgumentsPart():
                pass

    def _begin(self, index: int, item: Item, deltas: list[Delta]) -> _Open:
        """Return an item that has begun; begin it if it has not."""
        known = self._heard.items.get(index)
        if known is not None:
            return known
        known = self._heard.items[index] = _Open(item.type)
        if item.type == "function_call":
            known.call_id = unused(item.call_id or item.id or f"call_{index}", self._heard.ids)
            deltas.append(CallOpened(known.call_id, item.name or ""))
            self._heard.last = index
            if item.id:
                deltas.append(CallSigned(known.call_id, item.id))
        return known

    def _begin_text(self, index: int, deltas: list[Delta]) -> None:
        """Let text belong to this message."""
        message = self._begin(index, Item("message"), deltas)
        message.heard = True
        self._text = self._heard.last = index
        self._summary = _NONE

    def _begin_arguments(self, index: int) -> None:
        """Let arguments belong to the call at this place, if one has begun there and goes on."""
        call = self._heard.items.get(index)
        self._call, self._call_id = index, ""
        if call is not None and call.call_id and not call.closed:
            call.heard = True
            self._call_id = call.call_id

    def _think(self, index: int, section: tuple[str, int], text: str, deltas: list[Delta]) -> None:
        """Add to a thought. Its parts become paragraphs."""
        if not text:
            return
        thought = self._begin(index, Item("reasoning"), deltas)
        if thought.closed:
            return
        if self._heard.last != index:
            self._begin_thought(index, deltas)
            thought.heard = True
        elif thought.section != section:
            text = _PARAGRAPH + text
        thought.section = section
        deltas.append(ThinkingDelta(text))

    def _begin_thought(self, index: int, deltas: list[Delta]) -> None:
        """Let a part of the reply be this thought, and no other."""
        before = self._heard.items.get(self._heard.last)
        if before is not None and before.kind == "reasoning" and not before.closed:
            deltas.append(PartClosed())
        self._heard.last = index
        self._heard.thoughts += 1

    def _finish_item(self, index: int, raw: Raw, deltas: list[Delta]) -> None:
        item = _item(raw)
        known = self._begin(index, item, deltas)
        if known.closed:
            return
        match known.kind:
            case "reasoning":
                self._finish_thought(index, item, raw, known, deltas)
            case "message":
                self._finish_message(index, item, known, deltas)
            case "function_call":
                if not known.heard and item.arguments:
                    deltas.append(CallDelta(known.call_id, item.arguments))
            case _:
                return  # Nothing that linnet asks for.
        known.closed = True
        if self._heard.last == index:
            deltas.append(PartClosed())
        self._text = self._call = -1

    def _finish_thought(self, index: int, item: Item, raw: Raw, known: _Open, deltas: list[Delta]) -> None:
        signature = bytes(raw).decode()
        whole = reasoning_item(signature) is not None
        if not known.heard:
            self._begin_thought(index, deltas)
            words = _PARAGRAPH.join(part.text for part in (item.summary or item.content or ()) if part.text)
            if words or not whole:  # Empty, it keeps the place of a thought that may be signed late.
                deltas.append(ThinkingDelta(words))
        if self._heard.last != index:
            return
        if whole:
            deltas.append(ThinkingSigned(signature))
        else:
            self._heard.unsigned[item.id or ""] = self._heard.thoughts - 1

    def _finish_message(self, index: int, item: Item, known: _Open, deltas: list[Delta]) -> None:
        for part in item.content or ():
            if part.refusal and not self._heard.refusal:
                self._heard.refusal = part.refusal
            if not known.heard and (words := part.text or part.refusal):
                deltas.append(TextDelta(words))
        if not known.heard:
            self._heard.last = index
        if item.id and self._heard.last == index:
            deltas.append(TextSigned(message_signature(item.id, item.phase)))

    def _close(self, response: Response, told: str, deltas: list[Delta]) -> None:
        """Take the last event of all. Some servers let a reply that is not complete end in `response.completed`."""
        if response.usage is not None and (self._heard.items or told != "failed"):  # Else it may be tried again.
            deltas.append(UsageReported(_usage(response.usage)))
        status = response.status or told
        if status == "completed" and response.error is None:
            if self._heard.refusal:
                self.failure = self._refused(self._heard.refusal)
                return
            self._sign_late(response, deltas)
            self.finished = True
            calls = any(item.call_id for item in self._heard.items.values())
            deltas.append(Stopped("tool_use" if calls else "end"))
        elif status == "incomplete":
            reason = response.incomplete_details.reason if response.incomplete_details else None
            if reason in (None, "max_output_tokens"):
                self.finished = True
                deltas.append(Stopped("length"))
            elif reason == "content_filter":
                self.failure = ModelRefused(self._provider, "the reply was stopped by the content filter")
            else:
                self.failure = ended_oddly(self._provider, reason)
        elif response.error is not None:
            self.failure = self._fault(response.error)
        elif status in ("failed", "cancelled"):
            self.failure = ProviderRejected(self._provider, f"the reply {status}, without a reason")
        else:
            self.failure = ended_oddly(self._provider, status)

    def _sign_late(self, response: Response, deltas: list[Delta]) -> None:
        """Sign thoughts whose items only the whole reply has with their encrypted content, as at some hosts."""
        if not self._heard.unsigned:
            return
        for raw in response.output or ():
            nth = self._heard.unsigned.get(_item(raw).id or "")
            signature = bytes(raw).decode()
            if nth is not None and reasoning_item(signature) is not None:
                deltas.append(ThinkingSigned(signature, nth=nth))

    def _refused(self, why: str) -> ProviderError:
        shown = why if len(why) <= _SHOWN else why[:_SHOWN] + "…"
        return ModelRefused(self._provider, f"the model refused to answer ({shown})")

    def _fault(self, fault: Fault | str) -> ProviderError:
        if isinstance(fault, Fault) and fault.code in _POLICIES:
            return ModelRefused(self._provider, f"{fault.code}: {fault.message or 'no reason given'}")
        return from_fault(self._provider, fault)

    def _odd(self, payload: bytes) -> None:
        """Take the error of a gateway that has no events of this API for it; skip anything else."""
        if b'"error"' not in payload:
            return
        try:
            said = _decode_bare(payload)
        except (DecodeError, UnicodeDecodeError, RecursionError):
            return
        if said.type is None:
            self.failure = self._fault(said.error)


def _item(raw: Raw) -> Item:
    """Return what is known of an item; one without a kind if it is of a form that is not known."""
    try:
        return _decode_item(raw)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        return Item()


def _usage(tokens: Tokens) -> Usage:
    details = tokens.input_tokens_details or InputDetails()
    read, written = counted(details.cached_tokens), counted(details.cache_write_tokens)
    long = details.cache_write_tokens_details
    return Usage(
        max(counted(tokens.input_tokens) - read - written, 0),
        counted(tokens.output_tokens),
        read,
        written,
        cache_write_long=min(counted(long.ttl_12h_tokens if long else None), written),
    )
