"""Builds the object that answers a command in the zot protocol. What only some answers need is imported for them."""

from collections.abc import Sequence
from typing import Any, assert_never

from msgspec import UNSET, Raw

from linnet.core import commands
from linnet.core.questions import QuestionAsked
from linnet.wire.dialect import Asked, Rejected
from linnet.wire.zot import responses


def answer(asked: Asked, answer: commands.Answer) -> responses.Response:
    """Return the response to a command that succeeded."""
    return responses.Response(_id(asked.id), asked.name, success=True, data=data(answer))


def refuse(asked: Asked | Rejected, reason: str, code: str = "") -> responses.Response:
    """Return the response to a command that was refused or failed."""
    return responses.Response(_id(asked.id), asked.name, success=False, error=reason, code=code or UNSET)


def data(answer: commands.Answer) -> Any:
    """Return the `data` of a response; UNSET if it has none."""
    match answer:
        case commands.Greeting(version, provider, model):
            return responses.GreetingData(responses.PROTOCOL_VERSION, version, provider, model)
        case commands.Started():
            return responses.StartedData(started=True)
        case commands.AgentState():
            return state(answer)
        case commands.Transcript(transcript):
            from linnet.wire.zot.frames import MessagesData
            from linnet.wire.zot.transcript import listed

            return MessagesData(listed(transcript))
        case commands.ModelChosen(model):
            return responses.ModelData(model.id)
        case commands.ModelList(models):
            return responses.ModelsData(
                [responses.ModelInfo(m.id, m.provider, m.context_window, m.max_output, m.reasoning) for m in models]
            )
        case commands.CommandList(found):
            return responses.CommandsData(
                [
                    responses.SlashItem(c.name, c.description, c.source, c.location, c.path, c.hint or UNSET)
                    for c in found
                ]
            )
        case commands.Pong():
            return responses.PongData(pong=True)
        case commands.Ok():
            return UNSET
        case (
            commands.Accepted()
            | commands.SessionStats()
            | commands.LastText()
            | commands.ModelCycled()
            | commands.ThinkingLevels()
            | commands.ThinkingCycled()
            | commands.Compacted()
            | commands.QueueCleared()
            | commands.SessionOpened()
            | commands.Branched()
            | commands.Navigated()
            | commands.BranchMessages()
            | commands.Outline()
            | commands.EntryTree()
            | commands.EntryList()
            | commands.SessionList()
            | commands.Exported()
            | commands.BashDone()
            | commands.Done()
        ):
            return UNSET  # These answer what cannot be asked in this protocol.
        case _:
            assert_never(answer)


def state(answer: commands.AgentState) -> responses.StateData:
    from linnet.wire.zot.transcript import grouped, tokens

    count = len(list(grouped(answer.messages)))
    model = answer.model
    file = answer.session_file or UNSET
    waiting = _waiting(answer.waiting_for) if answer.waiting_for else UNSET
    usage = tokens(answer.spent)
    return responses.StateData(
        model.provider,
        model.id,
        answer.cwd,
        count,
        answer.busy,
        usage,
        file,
        waiting,
        answer.sandbox or UNSET,
    )


def _waiting(asked: Sequence[QuestionAsked]) -> list[responses.WaitingFor]:
    from linnet.wire.zot.questions import waiting

    return [waiting(each) for each in asked]


def _id(id: Raw) -> Any:
    """Return the id; UNSET for an empty or null one, which is left out as in zot."""
    return UNSET if bytes(id) in (b"", b"null", b'""') else id
