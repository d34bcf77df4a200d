"""The OpenAPI document and the figures: complete, true, and readable by others."""

import re
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)
from starlette.routing import Route

from linnet.serve.http.app import App
from linnet.serve.http.guard import is_open
from tests.serve.http.over_http import Client, Served

LINE = re.compile(r'([a-z_]+)(?:\{([a-z_]+)="([^"]*)"\})? (\S+)')


def test_every_route_is_in_the_document_and_nothing_else_is(served: Served, drive: Client) -> None:
    document = drive.get("/v1/openapi.json").json
    described = {(path, method.upper()) for path, each in document["paths"].items() for method in each}
    app = served.server.app
    assert isinstance(app, App)
    routes = [route for route in app._router.routes if isinstance(route, Route)]
    routed = {
        (route.path.replace(":path}", "}"), method)
        for route in routes
        for method in (route.methods or ())
        if method != "HEAD"
    }
    assert described == routed
    assert document["openapi"].startswith("3.1.")


def test_what_needs_no_token_is_what_the_guard_leaves_open(served: Served, drive: Client) -> None:
    app = served.server.app
    assert isinstance(app, App)
    assert drive.get("/v1/about").status == 200
    assert {each.path for each in app.endpoints if is_open(each.path)} == {
        each.path for each in app.endpoints if each.access == "open"
    }


def test_every_operation_has_a_name_of_its_own_and_says_what_it_returns(drive: Client) -> None:
    document = drive.get("/v1/openapi.json").json
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    for operation in operations:
        assert operation["summary"].endswith(".")
        assert "default" in operation["responses"]


def test_the_document_is_one(drive: Client) -> None:
    loaded = schemathesis.openapi.from_dict(drive.get("/v1/openapi.json").json)
    loaded.validate()


def test_requests_made_from_the_document_are_answered_as_it_says(served: Served, drive: Client) -> None:
    agent = drive.open(served.work)
    document = drive.get("/v1/openapi.json").json
    known(document, agent, str(served.work))
    loaded = schemathesis.openapi.from_dict(document, config=SchemathesisConfig())
    loaded.config.update(base_url=served.server.url)
    streams = re.compile(r"/events$")
    token = {"Authorization": f"Bearer {served.token('drive')}"}
    checks = [
        *(not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance),
        *(ignored_auth, unsupported_method, negative_data_rejection),
    ]

    for found in loaded.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        if streams.search(operation.path) or operation.method == "delete":
            continue  # Streams do not end; and the agent is needed.

        @settings(max_examples=15, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def ask(case: Any) -> None:
            case.call_and_validate(headers=token, checks=checks, timeout=60)

        ask()


def known(document: dict[str, Any], agent: str, cwd: str) -> None:
    """Let the document know of an agent and a folder that are there: others would be refused, and prove little."""
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] == "agent":
                    parameter["schema"] = {"type": "string", "enum": [agent]}
    document["components"]["schemas"]["OpenAgent"]["properties"]["cwd"] = {"type": "string", "enum": [cwd, "/etc"]}


def figures(text: str) -> dict[tuple[str, str], float]:
    """Read Prometheus' text format, strictly."""
    found: dict[tuple[str, str], float] = {}
    described: dict[str, set[str]] = {}
    for line in text.splitlines():
        if line.startswith("# "):
            _, kind, name, rest = line.split(" ", 3)
            described.setdefault(name, set()).add(kind)
            assert kind == "HELP" or rest in ("gauge", "counter")
            continue
        match = LINE.fullmatch(line)
        assert match, line
        assert described[match[1]] == {"HELP", "TYPE"}
        assert (match[1], match[3] or "") not in found
        found[match[1], match[3] or ""] = float(match[4])
    assert text.endswith("\n")
    return found


def test_figures_count_what_happened(served: Served, drive: Client) -> None:
    before = figures(drive.get("/metrics").body.decode())
    agent = drive.open(served.work)
    with drive.stream(f"/v1/agents/{agent}/events") as stream:
        drive.command(agent, "prompt", message="hello")
        stream.until("agent_settled")
        reply = drive.get("/metrics")
    after = figures(reply.body.decode())

    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert (before["linnet_agents", "idle"], after["linnet_agents", "idle"]) == (0, 1)
    assert after["linnet_commands_total", ""] == before["linnet_commands_total", ""] + 1
    assert after["linnet_events_total", ""] > before["linnet_events_total", ""]
    assert (after["linnet_http_streams", ""], after["linnet_watchers", ""]) == (1, 1)
    assert after["linnet_prompts_total", ""] == 1
    assert after["linnet_tokens_total", "output"] > 0
    assert after["linnet_cost_dollars_total", ""] > 0
    assert after["process_resident_memory_bytes", ""] > 1_000_000
    assert after["linnet_loop_lag_seconds", ""] >= 0
    assert after["linnet_http_answers_total", "2xx"] >= 2


@pytest.mark.parametrize("name", ["linnet_agents", "linnet_tokens_total", "linnet_http_answers_total"])
def test_figures_with_labels_say_which(name: str, drive: Client) -> None:
    drive.get("/v1/about")
    assert {label for each, label in figures(drive.get("/metrics").body.decode()) if each == name} - {""}
