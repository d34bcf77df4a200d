import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert

from linnet.concurrency.cancel import CancelToken
from linnet.core.models import Model
from linnet.errors import ContextOverflow, ProviderError, ProviderRejected, ProviderUnavailable
from linnet.providers.base import Request
from linnet.providers.factory import build
from linnet.providers.http.vendor_errors import Fault, from_fault, from_status, retry_after
from tests.providers.raw import RawServer, answers, sized

NOW = 1_000_000_000.0


def answer(status: int, body: bytes | dict[str, Any] | list[Any] = b"", **headers: str) -> ProviderError:
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
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


OVERFLOWS = {
    "Bedrock": "Input is too long for requested model.",
    "Google": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "xAI": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Groq": "Please reduce the length of the messages or completion.",
    "Z.ai": "Prompt too long",
    "Z.ai, code 1261": "Prompt exceeds max length",
    "Kimi": "Your request exceeded model token limit: 262144",
    "MiniMax": "invalid params, context window exceeds limit (2013)",
    "LM Studio": "Trying to keep the first 9000 tokens, which is greater than the context length of 4096",
    "Together": "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
    "Copilot": "prompt token count of 128001 exceeds the limit of 128000",
    "Ollama": "prompt too long; exceeded max context length by 20 tokens",
    "Qwen": "Range of input length should be [1, 98304]",
    "LiteLLM": "ContextWindowExceededError: context window exceeded",
    "Mistral": "Prompt contains 65673 tokens, too large for model with 32768 maximum context length",
    "any": "Too many tokens in the request",
    "another": "token limit exceeded",
}


@pytest.mark.parametrize("words", OVERFLOWS.values(), ids=OVERFLOWS)
def test_overflow_is_known_in_the_words_of_every_vendor_and_in_every_form_of_a_body(words: str) -> None:
    forms: list[Any] = [
        {"error": {"message": words, "type": "invalid_request_error"}},
        {"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}},
        [{"error": {"code": 400, "message": words}}],
        {"error": words},
        {"message": words},
        {"message": words, "code": 3051},
        {"detail": words},
        {"detail": [{"loc": ["body"], "msg": words}]},
        {"error": {"code": 400, "message": "Provider returned error", "metadata": {"raw": words}}},
    ]
    for form in forms:
        assert type(answer(400, form)) is ContextOverflow
    assert type(answer(400, words.encode())) is ContextOverflow
    assert type(answer(400, {"message": words}, x_amzn_errortype="ValidationException:http://x")) is ContextOverflow
    assert type(from_fault("acme", Fault(message=words))) is ContextOverflow


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (429, "Too many tokens, please wait before trying again."),
        (503, "Too many tokens, please wait before trying again."),
        (503, "Rate limit reached: too many tokens"),
        (503, "Too many requests: token limit exceeded for this minute"),
        (429, "Request too large: tokens per min token limit exceeded"),
    ],
)
def test_what_is_about_the_pace_is_not_taken_for_overflow(status: int, words: str) -> None:
    assert type(answer(status, {"message": words})) is ProviderUnavailable
    assert type(from_fault("acme", Fault(code=status, message=words))) is ProviderUnavailable


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens: 9000 exceeds the limit of 8192",
        "image exceeds the limit of 5242880 bytes",
        "the number of images exceeds the limit of 20",
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
    ],
)
def test_other_limits_are_not_taken_for_overflow(words: str) -> None:
    assert type(answer(400, {"error": {"message": words}})) is ProviderRejected


def test_a_refusal_without_a_word_is_an_overflow_only_where_that_is_known() -> None:
    assert type(answer(400)) is ProviderRejected
    assert type(from_status("acme", 400, {}, b" ", NOW, bare_overflow=True)) is ContextOverflow
    assert type(from_status("acme", 400, {}, b"no", NOW, bare_overflow=True)) is ProviderRejected
    assert type(from_status("acme", 401, {}, b"", NOW, bare_overflow=True)) is ProviderRejected


def spent(code: str) -> dict[str, Any]:
    fault = {"type": "rate_limit_error", "message": "Your organization has spent it", "details": {"error_code": code}}
    return {"type": "error", "error": fault, "request_id": "req_1"}


@pytest.mark.parametrize(
    "body",
    [
        spent("enforced_spend_limit_reached"),
        {"error": {"message": "pay", "type": "insufficient_quota", "code": "credit_balance_exhausted"}},
        {"error": {"message": "pay", "code": "billing_not_active"}},
        {"error": {"message": "pay", "code": "project_spend_limit_exceeded"}},
    ],
)
def test_a_spend_limit_is_not_retried_whatever_its_status_and_is_told_in_the_vendors_words(
    body: dict[str, Any],
) -> None:
    for status in (400, 429):
        error = answer(status, body, x_should_retry="true", retry_after="3")
        assert type(error) is ProviderRejected
        assert body["error"]["message"] in str(error)
    assert type(from_fault("acme", convert(body["error"], Fault))) is ProviderRejected


def test_a_limit_on_growth_is_waited_for() -> None:
    error = answer(429, spent("ramp_limit_exceeded"), retry_after="3")
    assert isinstance(error, ProviderUnavailable)
    assert error.retry_after == 3


def test_money_is_not_waited_for() -> None:
    body = {"error": {"code": 402, "message": "Your prepaid credits are gone", "status": "RESOURCE_EXHAUSTED"}}
    assert type(answer(402, body, x_should_retry="true")) is ProviderRejected
    assert type(from_fault("acme", convert(body["error"], Fault))) is ProviderRejected


@pytest.mark.parametrize("status", [400, 403, 408, 429, 500, 529])
def test_a_vendor_that_says_whether_to_try_again_is_believed_before_its_status(status: int) -> None:
    assert type(answer(status, b"x", x_should_retry="false")) is ProviderRejected
    assert type(answer(status, b"x", x_should_retry=" True ")) is ProviderUnavailable
    assert type(answer(status, b"x", x_should_retry="perhaps")) is type(answer(status, b"x"))


def google(status: int, word: str, *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": status, "message": "no", "status": word, "details": list(details)}}


def test_googles_wait_is_in_the_body() -> None:
    wait = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "13.5s"}
    body = google(429, "RESOURCE_EXHAUSTED", {"@type": "x", "links": []}, wait)
    for form in (body, [body]):
        error = answer(429, form)
        assert isinstance(error, ProviderUnavailable)
        assert error.retry_after == 13.5
    error = answer(429, body, retry_after="0")
    assert isinstance(error, ProviderUnavailable)
    assert error.retry_after == 0
    error = from_fault("acme", convert(body["error"], Fault))
    assert isinstance(error, ProviderUnavailable)
    assert error.retry_after == 13.5


@pytest.mark.parametrize("delay", ["soon", "-1s", "nans", "", 13, None, {"seconds": 1}])
def test_a_wait_that_is_none_is_ignored(delay: Any) -> None:
    error = answer(429, google(429, "RESOURCE_EXHAUSTED", {"retryDelay": delay}))
    assert isinstance(error, ProviderUnavailable)
    assert error.retry_after is None


@pytest.mark.parametrize(
    ("status", "body", "header"),
    [
        (400, google(400, "INVALID_ARGUMENT", {"@type": "ErrorInfo", "reason": "API_KEY_INVALID"}), ""),
        (403, {"message": "The security token included in the request is invalid."}, "UnrecognizedClientException"),
        (403, {"message": "late", "__type": "com.amazon.coral.service#ExpiredTokenException"}, ""),
    ],
)
def test_a_bad_key_is_known_under_any_status(status: int, body: dict[str, Any], header: str) -> None:
    error = answer(status, body, x_amzn_errortype=header)
    assert type(error) is ProviderRejected
    assert error.status == 401
    assert f"http {status}: " in str(error)


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (429, "ThrottlingException", ProviderUnavailable),
        (429, "ModelNotReadyException", ProviderUnavailable),
        (424, "ModelErrorException", ProviderUnavailable),
        (424, "ModelStreamErrorException", ProviderUnavailable),
        (408, "ModelTimeoutException", ProviderUnavailable),
        (500, "InternalServerException", ProviderUnavailable),
        (503, "ServiceUnavailableException", ProviderUnavailable),
        (400, "ValidationException", ProviderRejected),
        (400, "ServiceQuotaExceededException", ProviderRejected),
        (403, "AccessDeniedException", ProviderRejected),
        (404, "ResourceNotFoundException", ProviderRejected),
    ],
)
def test_bedrocks_errors_are_known_by_header_by_body_and_inside_streams(
    status: int, kind: str, error: type[ProviderError]
) -> None:
    assert type(answer(status, {"message": "m"}, x_amzn_errortype=f"{kind}:http://internal.example/")) is error
    assert type(answer(status, {"message": "m", "__type": f"com.amazon#{kind}"})) is error
    assert type(from_fault("acme", Fault(type=kind[0].lower() + kind[1:], message="m"))) is error


def emulated(form: str, status: int, kind: str, words: str) -> dict[str, Any]:
    if form == "anthropic":
        return {"type": "error", "error": {"type": kind, "message": words}}
    if form == "chat":
        return {"error": {"message": words, "type": kind, "param": None, "code": None}}
    return {"error": {"code": status, "message": words, "status": kind}}


@pytest.mark.parametrize("form", ["anthropic", "chat", "gemini"])
@pytest.mark.parametrize(
    ("status", "kind", "words", "error"),
    [
        (400, "invalid_request_error", "bad request", ProviderRejected),
        (401, "authentication_error", "bad key", ProviderRejected),
        (429, "rate_limit_error", "slow down", ProviderUnavailable),
        (500, "server_error", "boom", ProviderUnavailable),
        (529, "overloaded_error", "busy", ProviderUnavailable),
        (400, "invalid_request_error", "Your input exceeds the context window of this model.", ContextOverflow),
    ],
)
def test_what_a_foreign_emulator_answers_is_understood(
    form: str, status: int, kind: str, words: str, error: type[ProviderError]
) -> None:
    body = emulated(form, status, kind, words)
    assert type(answer(status, body)) is error
    assert type(from_fault("acme", convert(body["error"], Fault))) is error
    assert (answer(status, body).status == 401) == (status == 401)


def test_a_code_that_is_no_status_is_none() -> None:
    assert type(from_fault("acme", Fault(code=3051, message="m"))) is ProviderRejected
    assert type(from_fault("acme", Fault(code="429", message="m"))) is ProviderUnavailable
    assert type(from_fault("acme", Fault(code=True, message="m"))) is ProviderRejected


NAMES = st.sampled_from(
    ["error", "message", "code", "type", "status", "details", "detail", "reason", "retryDelay", "error_code", "raw"]
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=5), inner, max_size=5),
    max_leaves=20,
)


@given(st.binary() | anything.map(lambda value: json.dumps(value).encode()), st.integers(200, 599), st.text())
def test_no_body_and_no_header_whatever_breaks_the_reading(body: bytes, status: int, header: str) -> None:
    headers = dict.fromkeys(("retry-after", "retry-after-ms", "x-should-retry", "x-amzn-errortype"), header)
    assert isinstance(from_status("acme", status, headers, body, NOW), ProviderError)


@given(st.dictionaries(st.sampled_from(Fault.__struct_fields__), anything) | st.text())
def test_no_fault_whatever_breaks_the_reading(fields: dict[str, Any] | str) -> None:
    fault = fields if isinstance(fields, str) else Fault(**fields)
    assert isinstance(from_fault("acme", fault), ProviderError)


@pytest.mark.parametrize(("provider", "kind"), [("cerebras", ContextOverflow), ("groq", ProviderRejected)])
def test_a_provider_may_say_by_a_bare_400_that_a_conversation_is_too_long(
    provider: str, kind: type[ProviderRejected]
) -> None:
    server = RawServer(answers(sized(b"", "400 Bad Request", "text/plain")))
    opened = build(provider, "k", server.url, attempts=1)
    with pytest.raises(ProviderRejected) as refused:
        list(opened.stream(Request(Model("m", provider), "", []), CancelToken()))
    assert type(refused.value) is kind
    opened.close()
    server.close()
