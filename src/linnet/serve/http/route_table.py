"""All endpoints, in one table."""

from typing import Annotated, Any, Final

from msgspec import Meta

from linnet.serve.agents.summary import Summary
from linnet.serve.http import agent_routes, bodies, server_routes
from linnet.serve.http.agent_routes import AgentRoutes
from linnet.serve.http.endpoints import Endpoint, Handler, Parameter, Returned
from linnet.serve.http.page_files import PageFiles
from linnet.serve.http.seen_sessions import WholeSession
from linnet.serve.http.server_routes import ServerRoutes

_AGENT: Final = Parameter("agent", Annotated[str, Meta(pattern="^[0-9a-f]{16}$")], "The id of an agent.", "path")
_SESSION: Final = Parameter(
    "session", Annotated[str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$")], "The id of a session.", "path"
)
_FILE: Final = Parameter("name", str, "The name of a file.", "path")
_KEY: Final = Parameter(
    "Idempotency-Key",
    Annotated[str, Meta(max_length=agent_routes.LONGEST_KEY, pattern="^[!-~]*$")],
    "A name of your own: a command with the same name is carried out once.",
    "header",
)
_SEEN: Final = Parameter(
    "Last-Event-ID",
    Annotated[str, Meta(pattern="^[0-9]{1,18}$")],
    "The last number that was seen. It wins over `from`.",
    "header",
)
_NOTHING: Final = {204: Returned("Done.")}
_PAGE: Final = {200: Returned("The session as a page.", media="text/html")}
_EVENTS: Final = {200: Returned("Server-sent events, without end.", media="text/event-stream")}
_COMMANDS: Final = {
    200: Returned("The response to the command.", dict[str, Any]),
    204: Returned("It was given; the dialect has no responses."),
    400: Returned("The response says that it was refused; or it was no command.", dict[str, Any]),
}
PATH_OF_FILES: Final = "/page/{name}"


def endpoints(agents: AgentRoutes, server: ServerRoutes, files: PageFiles, document: Handler) -> tuple[Endpoint, ...]:
    """Return the table. Where two paths fit, the first one counts."""
    dialect, download = agent_routes.DIALECT, agent_routes.DOWNLOAD
    return (
        Endpoint("GET", "/v1/agents", agents.list, "List all agents.", "watch", _json(bodies.AgentList)),
        Endpoint(
            *("POST", "/v1/agents", agents.open, "Open an agent.", "drive"),
            {201: Returned("The agent.", bodies.AgentOpened)},
            *((_KEY,), bodies.OpenAgent),
        ),
        Endpoint(
            *("GET", "/v1/agents/events", agents.summaries, "Follow the summaries of all agents.", "watch", _EVENTS)
        ),
        Endpoint(
            *("GET", "/v1/agents/{agent}", agents.show, "Return the summary of an agent.", "watch"),
            *(_json(Summary), (_AGENT,)),
        ),
        Endpoint(
            *("DELETE", "/v1/agents/{agent}", agents.remove, "Abort and forget an agent. Its session stays.", "drive"),
            *(_NOTHING, (_AGENT,)),
        ),
        Endpoint(
            *("POST", "/v1/agents/{agent}/commands", agents.command, "Give an agent a command.", "watch", _COMMANDS),
            *((_AGENT, dialect, _KEY), bodies.CommandLine),
        ),
        Endpoint(
            *("GET", "/v1/agents/{agent}/events", agents.events, "Follow the events of an agent.", "watch", _EVENTS),
            (_AGENT, dialect, agent_routes.FROM, _SEEN),
        ),
        Endpoint(
            *("GET", "/v1/agents/{agent}/snapshot", agents.snapshot, "Return what an agent is at.", "watch"),
            *(_json(bodies.Snapshot), (_AGENT, dialect, agent_routes.LAST, agent_routes.BEFORE)),
        ),
        Endpoint(
            *("GET", "/v1/agents/{agent}/export", agents.export, "Return an agent's session as a page.", "watch"),
            *(_PAGE, (_AGENT, download)),
        ),
        Endpoint(
            *("GET", "/v1/sessions", server.sessions, "List sessions.", "watch", _json(bodies.SessionList)),
            (server_routes.CWD, server_routes.LIMIT),
        ),
        Endpoint(
            *("GET", "/v1/sessions/{session}", server.session, "Return a session.", "watch"),
            *(_json(WholeSession), (_SESSION,)),
        ),
        Endpoint(
            *("GET", "/v1/sessions/{session}/export", server.export, "Return a session as a page.", "watch", _PAGE),
            (_SESSION, download),
        ),
        Endpoint("GET", "/v1/about", server.about, "Return what is allowed here.", "watch", _json(bodies.About)),
        Endpoint("GET", "/v1/models", server.models, "List the models.", "watch", _json(bodies.ModelList)),
        Endpoint("POST", "/v1/cookie", server.set_cookie, "Keep the token in a cookie.", "watch", _NOTHING),
        Endpoint("DELETE", "/v1/cookie", server.forget_cookie, "Forget the cookie.", "watch", _NOTHING),
        Endpoint("GET", "/v1/openapi.json", document, "Return this document.", "watch", _json(dict[str, Any])),
        Endpoint("GET", "/metrics", server.metrics, "Return figures for Prometheus.", "watch", _text("Figures.")),
        Endpoint("GET", "/healthz", server.healthy, "Say that the process answers.", "open", _text("ok")),
        Endpoint("GET", "/readyz", server.ready, "Say whether agents can be opened.", "open", _text("ok")),
        Endpoint("GET", "/", files.index, "Return the page.", "open", {200: Returned("The page.", media="text/html")}),
        Endpoint(
            *("GET", PATH_OF_FILES, files.file, "Return a file of the page.", "open"),
            *({200: Returned("The file.", media="*/*"), 304: Returned("You have it.")}, (_FILE,)),
        ),
    )


def _json(type: Any) -> dict[int, Returned]:
    return {200: Returned("As asked.", type)}


def _text(help: str) -> dict[int, Returned]:
    return {200: Returned(help, media="text/plain")}
