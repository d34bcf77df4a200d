"""The schema of a dialect: every command, response, event and error code, each a definition of one document."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias, get_args

from msgspec import Struct

from linnet.schemas import generations
from linnet.schemas.codes import codes
from linnet.schemas.shapes import ADDED, Schema, Shapes, described
from linnet.serve.agents import summary
from linnet.serve.unix import first_line
from linnet.wire import served_frames
from linnet.wire.command_rows import Row, Takes
from linnet.wire.pi import frames as pi_frames
from linnet.wire.pi import responses as pi_responses
from linnet.wire.pi import state, update_frames
from linnet.wire.pi.decode import rows as pi_rows
from linnet.wire.pi.generations import NAMES, PI, Generation, named
from linnet.wire.pi_legacy import encode as legacy_frames
from linnet.wire.pi_legacy.decode import rows as legacy_rows
from linnet.wire.zot import frames as zot_frames
from linnet.wire.zot import responses as zot_responses
from linnet.wire.zot.decode import rows as zot_rows

DRAFT = "https://json-schema.org/draft/2020-12/schema"
DIALECTS = ("zot", "pi-legacy", *NAMES)
Events: TypeAlias = tuple[type[Struct], ...]


class Spoken(NamedTuple):
    """What a dialect says, as types."""

    name: str
    title: str
    rows: Sequence[Row]
    events: Sequence[type[Struct]]
    answers: ModuleType | None
    """The module that has the types of answers; None in a dialect without."""
    commands: Shapes
    told: Shapes
    generation: Generation | None = None


def document(dialect: str) -> Schema:
    """Return the JSON Schema of a dialect, which must be one of DIALECTS."""
    return _document(spoken(dialect))


def spoken(dialect: str) -> Spoken:
    """Return what this dialect says."""
    if dialect == "zot":
        unions: dict[Any, str] = {zot_frames.Block: "Block"}
        zots: Events = (*_members(zot_frames.Event), zot_frames.SessionKept)
        told = Shapes(printed=True, names=_event_names(zots), unions=unions)
        return Spoken(dialect, "the zot protocol", zot_rows(), zots, zot_responses, Shapes(printed=False), told)
    legacy = dialect == "pi-legacy"
    generation = PI if legacy else named(dialect)
    events: Events = tuple(each for each, has in generations.EVENTS if has(generation))
    if legacy:
        events = (*(each for each in events if each in _LEGACY), legacy_frames.Compaction, legacy_frames.Error)
    said = [
        each
        for each in _members(pi_frames.Message)
        if each is not pi_frames.SystemMessage or generation.system_messages
    ]
    kinds = generations.kinds(generation, legacy=legacy)
    unions = {
        pi_frames.Message: "Message",
        update_frames.AssistantMessageEvent: "AssistantMessageEvent",
        pi_frames.UserBlock: "UserContent",
        pi_frames.ReplyBlock: "AssistantContent",
    }
    told = Shapes(
        printed=True,
        presence=generations.presence(generation, legacy=legacy),
        names=_pi_names(events),
        kinds=kinds,
        unions=unions,
    )
    told.define("Message", pi_frames.Message, lambda: told.choice(said))
    title = "the earlier pi protocol" if legacy else f"the protocol of pi {generation.version}"
    rows = legacy_rows() if legacy else pi_rows(generation)
    answers = None if legacy else pi_responses
    return Spoken(dialect, title, rows, events, answers, Shapes(printed=False), told, generation)


_LEGACY = (
    *(pi_frames.AgentStart, pi_frames.AgentEnd, pi_frames.TurnStart, pi_frames.TurnEnd),
    *(pi_frames.MessageStart, update_frames.MessageUpdate, pi_frames.MessageEnd),
    *(pi_frames.ToolExecutionStart, pi_frames.ToolExecutionEnd, update_frames.SessionHeader),
)


def _document(spoken: Spoken) -> Schema:
    commands = [_command(spoken, row) for row in spoken.rows]
    answered = [_response(spoken, row) for row in spoken.rows] if spoken.answers is not None else []
    events = [_event(spoken.told, kind) for kind in spoken.events]
    known = (served_frames.Gap, served_frames.Snapshot, *((served_frames.Unavailable,) if answered else ()))
    served = [_event(spoken.told, kind) for kind in known]  # The earlier protocol has an event like the last.
    if spoken.generation is not None and spoken.generation.updates == "deltas":
        _mark_repeats(spoken.told)
    found = codes()
    definitions: Schema = {
        "Line": _one_of("A line, in either direction.", ["Command", "Output"]),
        "Output": _one_of("A line that the agent prints.", ["Response", "Event"] if answered else ["Event"]),
        "Command": _one_of("A line that the agent reads.", commands),
        "Event": _one_of("A line about what happens.", [*events, *served]),
    }
    if answered:
        definitions["Response"] = _one_of("The answer to a command.", [*answered, "FailureResponse"])
        definitions["FailureResponse"] = _failure()
    listed = "\n".join(f"- `{code}`: {words}" for code, words in found.items())
    definitions["ErrorCode"] = {
        "type": "string",
        "description": f"One word for programs.\n\n{listed}",
        "enum": list(found),
    }
    for more in (spoken.commands.definitions, spoken.told.definitions, _first_lines()):
        assert not definitions.keys() & more.keys(), "two types have one name"
        definitions |= more
    return {
        "$schema": DRAFT,
        "$id": f"urn:linnet:schema:{spoken.name}",
        "title": f"linnet: {spoken.title}",
        "description": (
            "Commands and events of one line of JSON each. Fields that are not listed may be added in later versions: "
            "ignore what you do not know."
        ),
        "$ref": "#/$defs/Line",
        "$defs": definitions,
    }


def _command(spoken: Spoken, row: Row) -> str:
    properties: dict[str, Schema] = {
        "type": {"type": "string", "const": row.name},
        "id": {"description": "Any JSON value; the response has the same."},
    }
    required = ["type"]
    for takes in row.takes:
        if not takes.about or (takes.field.name == "attachments" and not _attaches(spoken)):
            continue
        properties[takes.field.name] = _taken(spoken.commands, takes)
        if takes.needed:
            required.append(takes.field.name)
    name = _pascal(row.name, "Command")
    schema = {"type": "object", **_told(row.about, added=row.added), "properties": properties, "required": required}
    spoken.commands.define(name, row, lambda: schema)
    return name


def _attaches(spoken: Spoken) -> bool:
    return spoken.generation is None or spoken.generation.attachments


def _taken(shapes: Shapes, takes: Takes[Any]) -> Schema:
    schema = shapes.of(takes.field.kind)
    if takes.read == takes.field.required and schema.get("type") == "string" and "enum" not in schema:
        schema["minLength"] = 1
    if takes.read == takes.field.nullable:
        schema = {"anyOf": [schema, {"type": "null"}]}
    return {**schema, **_told(takes.about, added=takes.added)}


def _told(about: str, *, added: bool) -> Schema:
    return {"description": f"{about} An addition of linnet's.", "$comment": ADDED} if added else {"description": about}


def _response(spoken: Spoken, row: Row) -> str:
    answer = _answer(spoken, row)
    properties: dict[str, Schema] = {
        "id": {"description": "That of the command; absent if it had none."},
        "type": {"type": "string", "const": "response"},
        "command": {"type": "string", "const": row.name},
        "success": {"type": "boolean", "const": True},
    }
    required = ["type", "command", "success"]
    if answer:
        properties["data"] = spoken.told.of(answer)
        required.append("data")
    name = _pascal(row.name, "Response")
    about = f"The answer to `{row.name}`."
    schema = {"type": "object", **_told(about, added=row.added), "properties": properties, "required": required}
    spoken.told.define(name, row, lambda: schema)
    return name


def _answer(spoken: Spoken, row: Row) -> Any:
    """Return the type of what a command is answered with; None if with nothing."""
    generation = spoken.generation
    word, _, null = row.answer.partition(" | ")
    if not word or (word == "DispositionData" and generation is not None and not generation.disposition):
        return None
    if word == "TreeData" and generation is not None and generation.tree == "nested":
        return update_frames.NestedTreeData
    modules = (zot_frames, zot_responses) if generation is None else (pi_responses, pi_frames, state)
    [found] = {getattr(module, word) for module in modules if hasattr(module, word)}
    return found | None if null else found


def _failure() -> Schema:
    return {
        "type": "object",
        "description": "A command was refused, or failed. Nothing has changed unless its page says so.",
        "properties": {
            "id": {"description": "That of the command; absent if it had none, or could not be read."},
            "type": {"type": "string", "const": "response"},
            "command": {
                "type": "string",
                "description": "The name of the command, known or not; of a line that is none, `parse` or empty.",
            },
            "success": {"type": "boolean", "const": False},
            "error": {"type": "string", "description": "A sentence for people."},
            "code": {"$ref": "#/$defs/ErrorCode", **_told("Told by servers only.", added=True)},
        },
        "required": ["type", "command", "success", "error"],
    }


def _event(shapes: Shapes, kind: type[Struct]) -> str:
    """Define an event, and return its name."""
    name = shapes.name(kind)
    shapes.reference(kind)
    number = _told("The number of the event, where a server was asked for a cursor.", added=True)
    shapes.definitions[name]["properties"]["seq"] = {"type": "integer", **number}
    return name


def _mark_repeats(told: Shapes) -> None:
    """Say of what updates repeat that it is linnet's own, in a generation whose updates do not."""
    kinds: Events = (update_frames.MessageUpdate, *_members(update_frames.AssistantMessageEvent))
    for kind in kinds:
        properties = told.definitions[told.name(kind)]["properties"]
        for name in properties.keys() & {"message", "partial"}:
            properties[name] |= _told("The message so far, after `set_stream` or with `--stream full`.", added=True)


def _first_lines() -> Schema:
    """Return definitions of the first line of a connection to a server, of its answer, and of a summary."""
    opening: dict[type[Struct], str] = {
        first_line.Open: "OpenAgent",
        first_line.Attach: "AttachAgent",
        first_line.Agents: "ListAgents",
    }
    read = Shapes(printed=False, names=opening)
    for kind in opening:
        read.reference(kind)
    summed: dict[type[Struct], str] = {
        summary.Summary: "AgentSummary",
        summary.Tokens: "AgentTokens",
        state.WaitingFor: "AgentQuestion",
        state.PermissionAsked: "AgentPermission",
    }
    told = Shapes(printed=True, names=summed)
    told.reference(first_line.Attached)
    told.reference(first_line.AgentsListed)
    refused = {**_failure(), "description": "A first line was refused."}
    return {
        "FirstLine": _one_of("The first line of a connection to a server's socket.", list(opening.values())),
        **read.definitions,
        "FirstLineResponse": _one_of(
            "The answer to a first line, the same in every dialect.",
            ["OpenAgentResponse", "AttachAgentResponse", "ListAgentsResponse", "FirstLineFailure"],
        ),
        "OpenAgentResponse": _first_answer("open", "Attached"),
        "AttachAgentResponse": _first_answer("attach", "Attached"),
        "ListAgentsResponse": _first_answer("agents", "AgentsListed"),
        "FirstLineFailure": refused,
        **told.definitions,
    }


def _first_answer(command: str, data: str) -> Schema:
    return {
        "type": "object",
        "description": f"The answer to `{command}`.",
        "properties": {
            "type": {"type": "string", "const": "response"},
            "command": {"type": "string", "const": command},
            "success": {"type": "boolean", "const": True},
            "id": {"description": "That of the first line; absent if it had none."},
            "data": {"$ref": f"#/$defs/{data}"},
        },
        "required": ["type", "command", "success", "data"],
    }


def _one_of(about: str, names: Sequence[str]) -> Schema:
    return {**described(about), "oneOf": [{"$ref": f"#/$defs/{name}"} for name in names]}


def _pascal(word: str, end: str) -> str:
    return "".join(part.title() for part in word.split("_")) + end


def _members(union: Any) -> tuple[type[Struct], ...]:
    members: tuple[type[Struct], ...] = get_args(union)
    return members


def _pi_names(events: Sequence[type[Struct]]) -> dict[type[Struct], str]:
    blocks: dict[type[Struct], str] = {
        pi_frames.Text: "TextContent",
        pi_frames.Image: "ImageContent",
        pi_frames.Thinking: "ThinkingContent",
    }
    return {**blocks, **_event_names(events)}


def _event_names(kinds: Sequence[type[Struct]]) -> dict[type[Struct], str]:
    served: Events = (served_frames.Gap, served_frames.Snapshot)
    named = {kind: _pascal(str(kind.__struct_config__.tag), "Event") for kind in (*kinds, *served)}
    return {**named, served_frames.Unavailable: "UnavailableEvent"}
