import pytest

from linnet.errors import ContextOverflow, ProviderError, ProviderRejected, ProviderUnavailable
from linnet.providers.http.vendor_errors import Fault, from_fault, from_status, retry_after

NOW = 1_000_000_000.0


def answer(status: int, body: bytes = b"", **headers: str) -> ProviderError:
    return from_status("acme", status, {name.replace("_", "-"): value for name, value in headers.items()}, body, NOW)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 422])
def test_a_refusal_that_trying_again_would_not_change_is_rejected(status: int) -> None:
    assert type(answer(status, b"no")) is ProviderRejected


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_a_passing_trouble_is_worth_another_try(status: int) -> None:
    assert type(answer(status, b"busy")) is ProviderUnavailable


def test_the_message_quotes_the_body_as_it_came() -> None:
    body = b'{"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}'
    assert str(answer(401, body)) == "acme: http 401: " + body.decode()


def test_a_body_that_is_a_novel_is_cut() -> None:
    assert len(str(answer(500, b"\xff" + b"x" * 100_000))) < 2100


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (413, b"nginx"),
        (400, b'{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}'),
        (400, b'{"error":{"message":"x","type":"invalid_request_error","code":"context_length_exceeded"}}'),
        (400, b'{"error":{"message":"This model\'s maximum context length is 8 tokens"}}'),
        (400, b'{"error":{"message":"input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000"}}'),
        (400, b'{"error":"the request exceeds the available context size"}'),
    ],
)
def test_a_conversation_that_no_longer_fits_is_told_apart(status: int, body: bytes) -> None:
    assert type(answer(status, body)) is ContextOverflow


def test_a_limit_that_only_money_lifts_is_not_retried() -> None:
    body = b'{"error":{"message":"You spent it all","type":"insufficient_quota","code":"insufficient_quota"}}'
    assert type(answer(429, body)) is ProviderRejected


@pytest.mark.parametrize("body", [b"", b"[]", b'{"error":[]}', b'{"error":{"code":{}}}', b"\xff", b"[" * 100_000])
def test_any_body_is_survived(body: bytes) -> None:
    assert type(answer(429, body)) is ProviderUnavailable


def test_a_redirect_is_an_error_that_says_where_to() -> None:
    error = answer(307, b"", location="https://elsewhere.example/v1")
    assert type(error) is ProviderRejected
    assert "https://elsewhere.example/v1" in str(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Sun, 09 Sep 2001 01:47:10 GMT"}, 30.0),
        ({"retry-after": "Sat, 01 Jan 2000 00:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
    ],
)
def test_the_wait_that_a_vendor_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(type="overloaded_error", message="Overloaded"), ProviderUnavailable),
        (Fault(type="api_error", message="Internal"), ProviderUnavailable),
        (Fault(type="rate_limit_error", message="slow down"), ProviderUnavailable),
        (Fault(type="timeout_error", message="late"), ProviderUnavailable),
        (Fault(code="server_error", message="oops"), ProviderUnavailable),
        (Fault(code=503, message="oops"), ProviderUnavailable),
        (Fault(code=400, message="oops"), ProviderRejected),
        (Fault(type="invalid_request_error", message="no"), ProviderRejected),
        (Fault(code="insufficient_quota", type="rate_limit_error", message="pay"), ProviderRejected),
        (Fault(code="context_length_exceeded", message="long"), ContextOverflow),
        (Fault(code={"odd": 1}), ProviderRejected),
        ("just words", ProviderRejected),
    ],
)
def test_an_error_inside_a_stream_is_judged_by_its_type(fault: Fault | str, kind: type[ProviderError]) -> None:
    assert type(from_fault("acme", fault)) is kind


def test_an_error_inside_a_stream_says_what_and_why() -> None:
    assert str(from_fault("acme", Fault(type="overloaded_error", message="Overloaded"))) == (
        "acme: overloaded_error: Overloaded"
    )
