"""Every `code` that an answer of linnet's may have, with what it means."""

from linnet.errors import LinnetError
from linnet.schemas.docstrings import about_type

SERVED = {
    "watching": "The client watches the agent, and this command would change something.",
    "unknown": "The server ended after the command had begun, and nobody knows what became of it.",
    "reused": "Another command was sent with this id.",
    "budget": "The agent, or all agents of the server, have cost as much as they may.",
    "draining": "The server begins nothing any more.",
}
"""Those of commands that no error is raised for."""
_WORDS = {
    "internal": "A defect of linnet's, or something that nobody has a better word for.",
    "config": "A flag, a variable or a file cannot be used.",
    "unknown_model": "No model is called so.",
    "unknown_provider": "No provider is called so.",
    "missing_key": "There is no credential for the provider.",
    "contradiction": "Flags do not go together.",
    "usage": "A command line makes no sense.",
    "busy": "A prompt is running, or there are too many connections.",
    "not_running": "Nothing runs that could be told this.",
    "closed": "The agent was closed.",
    "bad_input": "What was sent makes no sense.",
    "bad_output": "The answer does not have the form that was asked for.",
    "nothing_to_compact": "The conversation is short as it is.",
    "called_off": "An extension called it off; nothing has changed.",
    "limit_reached": "A prompt took as much as it may: steps, money, time.",
    "session": "A session file cannot be used, or no longer.",
    "session_in_use": "Another process has the session.",
    "log_unavailable": "Where the session is kept cannot be reached just now: worth another try.",
    "log_refused": "Somebody else owns the session by now.",
    "provider": "The provider of the model failed.",
    "provider_rejected": "The provider refused: trying again is useless.",
    "context_overflow": "The conversation no longer fits the model.",
    "model_refused": "The model, or a filter in front of it, will not answer.",
    "provider_unavailable": "The provider cannot be reached, or is overloaded: worth another try.",
    "no_such_agent": "No agent has this id.",
    "too_many_agents": "There are as many agents as there may be.",
}


def codes() -> dict[str, str]:
    """Return all codes, each with a sentence."""
    import linnet.serve.agents.host
    import linnet.serve.unix.client  # noqa: F401 (their errors are of ours)

    found = {kind.code: _WORDS.get(kind.code) or about_type(kind) for kind in _kinds(LinnetError) if _is_told(kind)}
    return dict(sorted({**found, **SERVED}.items()))


def _kinds(kind: type[LinnetError]) -> list[type[LinnetError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in _kinds(below))]


def _is_told(kind: type[LinnetError]) -> bool:
    """Return whether an agent tells of such an error: those of clients, and of tests, are not."""
    from linnet.errors import ClientError

    inside = kind.__module__.startswith("linnet.") and not kind.__module__.startswith(
        ("linnet.testing", "linnet.client")
    )
    return inside and not issubclass(kind, ClientError)
