"""Ends what an earlier process of the server had begun in an agent, and not ended: in its events and in its session."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from linnet.core import commands, events
from linnet.core.loop.left_open import closing_events
from linnet.core.messages import Message, Note, UserMessage
from linnet.runtime.run.prepare import prepared
from linnet.runtime.session import Session

CUT_OFF = "the server ended while this ran, and was started again"


Tell: TypeAlias = Callable[[Sequence[events.Event]], None]


def end(session: Session, opened: Sequence[events.Event], note: Tell, time: int) -> None:
    """Tell the end of what is open in a session that is still; `opened` are the events of its `Opening`. `note` takes
    events whose message the session has: only followers are told of them.
    """
    messages = _messages(session)
    begun = _beginning(opened, messages, time)
    if begun:  # In one step: a process that is killed in the middle of it could not tell what was said.
        _tell(begun, session, messages, note)
        messages = _messages(session)
    for event in closing_events([*opened, *begun], session.spent, messages, CUT_OFF, time):
        _tell([event], session, messages, note)


def _tell(happened: Sequence[events.Event], session: Session, messages: Sequence[Message], note: Tell) -> None:
    added = [said for event in happened if (said := _message(event)) is not None]
    if any(said is each for said in added for each in messages):
        note(happened)
    else:
        session.publish(happened)


def _beginning(opened: Sequence[events.Event], messages: Sequence[Message], time: int) -> list[events.Event]:
    """Return how the run of a prompt begins that was acknowledged, and of which nothing else was told: whoever sent it
    finds what it says in the conversation.
    """
    kinds = {type(each) for each in opened}
    job = next((each for each in opened if isinstance(each, events.JobStarted)), None)
    if job is None or job.input is None or job.input.meant is not None or kinds & {events.RunStarted, events.RunEnded}:
        return []
    said = prepared(replace(job.input, time=time))
    if messages and isinstance(messages[-1], UserMessage | Note) and messages[-1].content == said.content:
        said = messages[-1]  # It was written, and not told any more.
    return [events.RunStarted(), events.UserSaid(said) if isinstance(said, UserMessage) else events.NoteAdded(said)]


def _messages(session: Session) -> Sequence[Message]:
    said = session.answer_now(commands.GetMessages())
    return said.messages if isinstance(said, commands.Transcript) else ()


def _message(event: events.Event) -> Message | None:
    """Return the message that an event adds to the conversation; None if it adds none."""
    match event:
        case events.ReplyEnded(message) | events.UserSaid(message) | events.NoteAdded(message):
            return message
        case events.ToolFinished(result):
            return result
        case _:
            return None
