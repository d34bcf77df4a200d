"""AWS's own signer gives the same headers for the same request and clock."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from linnet.providers.bedrock.sigv4 import Credentials, Scope, signed

pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("vendors")]  # Their packages take long to import.
HOST = "bedrock-runtime.us-east-1.amazonaws.com"
SCOPE = Scope("us-east-1", "bedrock")
WORDS = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1, max_size=20)
VALUES = WORDS.map(str.strip).filter(bool)
NAMES = st.sampled_from(["content-type", "x-amz-meta", "x-a", "accept-odd", "X-Amzn-Bedrock-Trace"])
KNOWN = (  # Made by botocore 1.44.0, and worked out again by hand.
    (
        "/model/us.anthropic.claude-opus-4-6-v1%3A0/converse-stream",
        '{"messages":[{"role":"user","content":[{"text":"hi"}]}]}',
        "",
        "70ef9e7cc1e8554953e5e5f1dab7924f55c53ff423e4ea25f934e8cf19c81e85",
    ),
    (
        "/model/us.anthropic.claude-opus-5-5/converse-stream",
        "{}",
        "TOKEN",
        "d50670861043500fea931fe0bcb323373afffcb24b669b06ae4095539b2f694b",
    ),
)


def theirs(
    method: str, path: str, headers: Mapping[str, str], body: bytes, by: Credentials, scope: Scope, now: float
) -> dict[str, str]:
    """What botocore adds to a request. Its clock is the only thing that it reads from elsewhere."""
    from botocore.auth import SIGV4_TIMESTAMP, SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials as Keys

    request: Any = AWSRequest(method, f"https://{HOST}{path}", dict(headers), body)
    signer = SigV4Auth(Keys(by.access_key, by.secret_key, by.token or None), scope.service, scope.region)
    request.context["timestamp"] = datetime.fromtimestamp(now, UTC).strftime(SIGV4_TIMESTAMP)
    signer._modify_request_before_signing(request)
    canonical = signer.canonical_request(request)
    signature = signer.signature(signer.string_to_sign(request, canonical), request)
    signer._inject_signature_to_request(request, signature)
    return dict(request.headers.items())


@pytest.mark.parametrize(("path", "body", "token", "signature"), KNOWN)
def test_known_requests_get_their_known_signatures(path: str, body: str, token: str, signature: str) -> None:
    by = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token)
    headers = {"Content-Type": "application/json", "Host": HOST}
    now = datetime(2026, 11, 17, tzinfo=UTC).timestamp()
    added = signed("POST", path, headers, [body.encode()], by, SCOPE, now)
    assert added["Authorization"].endswith(f"Signature={signature}")
    assert ("x-amz-security-token" in added["Authorization"]) == bool(token)


@example("POST", [], "", {"0": "0", "00": "0"}, {}, [], "", "0", 0, SCOPE)  # One name begins with the other.
@given(
    method=st.sampled_from(["POST", "GET", "PUT"]),
    steps=st.lists(st.text(min_size=1, max_size=12), max_size=4),
    dots=st.sampled_from(["", "/", "/.", "/..", "//x"]),
    query=st.dictionaries(WORDS, WORDS, max_size=3),
    headers=st.dictionaries(NAMES, VALUES, max_size=4),
    body=st.lists(st.binary(max_size=40), max_size=3),
    token=st.sampled_from(["", "TOKEN/+=="]),
    secret=WORDS,
    now=st.integers(0, 4_000_000_000),
    scope=st.sampled_from([SCOPE, Scope("eu-west-3", "sts")]),
)
def test_any_request_is_signed_as_they_sign_it(
    method: str,
    steps: list[str],
    dots: str,
    query: dict[str, str],
    headers: dict[str, str],
    body: list[bytes],
    token: str,
    secret: str,
    now: int,
    scope: Scope,
) -> None:
    path = "/" + "/".join(quote(step, safe="") for step in steps) + dots
    if query:
        path += "?" + "&".join(
            f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in query.items()
        )
    by = Credentials("AKIDEXAMPLE", secret, token)
    added = signed(method, path, {**headers, "Host": HOST}, body, by, scope, now)
    expected = theirs(method, path, {**headers, "Host": HOST}, b"".join(body), by, scope, now)
    assert {**headers, "Host": HOST, **added} == expected


def test_what_signs_is_not_shown() -> None:
    shown = json.dumps(repr(Credentials("AKIDEXAMPLE", "secret-key", "token", 1.0)))
    assert "secret" not in shown
    assert "token" not in shown
