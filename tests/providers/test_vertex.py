"""Vertex AI: where it is asked, and how tokens are got, kept and got again."""

import json
import os
import sys
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from linnet.concurrency.cancel import CancelToken
from linnet.core.cancel import Cancel
from linnet.core.messages import Text, UserMessage
from linnet.core.models import Model
from linnet.errors import Cancelled, ConfigError, ProviderError, ProviderRejected, ProviderUnavailable
from linnet.providers import catalog
from linnet.providers.base import Request
from linnet.providers.endpoint import Endpoint
from linnet.providers.google import vertex, vertex_claude
from linnet.providers.google.cloud import HOME, cloud
from linnet.providers.google.credentials import Token, Tokens, granted
from linnet.providers.google.credentials_file import read
from linnet.testing.model_server import ModelServer
from tests.providers.answering import SILENCE, Answering, answer

GRANTED = answer(b'{"access_token":"ya29.one","expires_in":3599,"token_type":"Bearer"}')
PLACE = {"GOOGLE_CLOUD_PROJECT": "mine", "GOOGLE_CLOUD_LOCATION": "europe-west4"}


@pytest.fixture(scope="module")
def key() -> RSAPrivateKey:
    return generate_private_key(65537, 2048)


@pytest.fixture
def account(tmp_path: Path, key: RSAPrivateKey) -> "Account":
    return Account(tmp_path / "credentials.json", key)


class Account:
    """A file with the key of a service account, whose tokens a server of ours grants."""

    def __init__(self, path: Path, key: RSAPrivateKey) -> None:
        self.path = path
        self._pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    def write(self, **fields: Any) -> Mapping[str, str]:
        """Write the file. Returns the variables that lead to it."""
        said = {
            "type": "service_account",
            "client_email": "agent@mine.iam",
            "private_key": self._pem,
            "private_key_id": "k1",
            "project_id": "of-the-file",
            **fields,
        }
        self.path.write_text(json.dumps(said))
        return {"GOOGLE_APPLICATION_CREDENTIALS": str(self.path)}


def endpoint(base_url: str = HOME, **more: Any) -> Endpoint:
    return Endpoint("vertex", base_url, **more)


def model(id: str) -> Model:
    found = catalog.find("vertex", id)
    assert found
    return catalog.completed(found, catalog.PROVIDERS["vertex"], HOME)


def request(id: str = "gemini-3.8-flash") -> Request:
    return Request(model(id), "Be brief.", [UserMessage((Text("hi"),), 0)])


def token_of(source: Mapping[str, str], cancel: Cancel | None = None) -> str:
    found = read(source["GOOGLE_APPLICATION_CREDENTIALS"])
    assert found
    return granted("vertex", found)(cancel or CancelToken()).word


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("", "aiplatform.googleapis.com"),
        ("global", "aiplatform.googleapis.com"),
        ("europe-west4", "europe-west4-aiplatform.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
    ],
)
def test_the_location_says_which_server_is_asked(location: str, host: str) -> None:
    place = cloud(endpoint(key="AIza-key", environ={"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": location}))
    assert place.client.url.host == host
    assert place.client.url.secure
    assert place.parent == f"/v1/projects/p/locations/{location or 'global'}"
    assert cloud(endpoint(key="AIza-key")).parent == "/v1"  # A key knows its project.


@pytest.mark.parametrize(
    "environ",
    [{"GOOGLE_CLOUD_PROJECT": "a/b"}, {"GOOGLE_CLOUD_LOCATION": "evil.example/"}, {"GOOGLE_CLOUD_PROJECT": "a?b"}],
)
def test_what_could_lead_elsewhere_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="is no name that Google Cloud gives"):
        cloud(endpoint(key="AIza-key", environ=environ))


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    with pytest.raises(
        ConfigError,
        match=r"no credential for vertex .*; set GOOGLE_CLOUD_API_KEY, .* in GOOGLE_APPLICATION_CREDENTIALS, run",
    ):
        cloud(endpoint(environ={**home, **PLACE}))
    with pytest.raises(ConfigError, match="needs the name of a project; set GOOGLE_CLOUD_PROJECT"):
        cloud(endpoint(key="ya29.token", environ=home))
    with pytest.raises(ConfigError, match="which does not exist"):
        cloud(endpoint(environ={**home, "GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "gone.json")}))


def test_gemini_and_claude_are_asked_at_their_publishers() -> None:
    with ModelServer() as server:
        told = endpoint(server.url, key="ya29.token", environ=PLACE)
        for module, id in ((vertex, "gemini-3.8-flash"), (vertex_claude, "claude-haiku-4-5@20251001")):
            provider = module.opened(told)
            deltas = [delta for batch in provider.stream(request(id), CancelToken()) for delta in batch]
            provider.close()
            assert type(deltas[-1]).__name__ == "Stopped"
        paths = [asked.path for asked in server.requests]
        publishers = "/v1/projects/mine/locations/europe-west4/publishers"
        assert paths == [
            f"{publishers}/google/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
            f"{publishers}/anthropic/models/claude-haiku-4-5@20251001:streamRawPredict",
        ]
        assert {asked.headers["authorization"] for asked in server.requests} == {"Bearer ya29.token"}
        body = server.requests[1].body
        assert body["anthropic_version"] == "vertex-2023-10-16"
        assert "model" not in body


def test_an_api_key_is_sent_as_one() -> None:
    with ModelServer() as server:
        provider = vertex.opened(endpoint(server.url, key="AIza-key"))
        list(provider.stream(request(), CancelToken()))
        provider.close()
        assert server.requests[0].headers["x-goog-api-key"] == "AIza-key"
        assert "authorization" not in server.requests[0].headers
        assert server.requests[0].path.startswith("/v1/publishers/google/models/")


def test_a_service_account_says_who_it_is_and_gets_a_token(account: Account, key: RSAPrivateKey) -> None:
    with Answering(GRANTED) as server, ModelServer() as models:
        source = account.write(token_uri=f"{server.url}/token")
        provider = vertex.opened(endpoint(models.url, environ=source))
        for _ in range(2):
            list(provider.stream(request(), CancelToken()))
        provider.close()
        assert [asked.headers["authorization"] for asked in models.requests] == ["Bearer ya29.one"] * 2
        assert "/projects/of-the-file/locations/global/" in models.requests[0].path
        (path, headers, body), *again = server.asked
    assert not again  # The token still holds.
    assert path == "/token"
    assert headers["content-type"] == "application/x-www-form-urlencoded"
    form = parse_qs(body.decode())
    assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    head, claims, signature = (urlsafe_b64decode(part + "==") for part in form["assertion"][0].split("."))
    assert json.loads(head) == {"alg": "RS256", "typ": "JWT", "kid": "k1"}
    told = json.loads(claims)
    assert told["iss"] == "agent@mine.iam"
    assert told["aud"] == f"{server.url}/token"
    assert told["exp"] - told["iat"] == 3600
    signed = form["assertion"][0].rpartition(".")[0].encode()
    key.public_key().verify(signature, signed, PKCS1v15(), SHA256())


def test_a_login_by_gcloud_is_found_and_refreshed(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "gcloud"
    folder.mkdir(parents=True)
    with Answering(GRANTED) as server, ModelServer() as models:
        login = {
            "type": "authorized_user",
            "client_id": "id",
            "client_secret": "s3cret!",
            "refresh_token": "1//refresh",
            "quota_project_id": "billed",
            "token_uri": server.url,
        }
        (folder / "application_default_credentials.json").write_text(json.dumps(login))
        provider = vertex.opened(endpoint(models.url, environ={"HOME": str(tmp_path)}))
        list(provider.stream(request(), CancelToken()))
        provider.close()
        form = parse_qs(server.asked[0][2].decode())
        assert form["grant_type"] == ["refresh_token"]
        assert form["refresh_token"] == ["1//refresh"]
        headers = models.requests[0].headers
    assert headers["authorization"] == "Bearer ya29.one"
    assert headers["x-goog-user-project"] == "billed"


def test_a_token_is_fetched_again_before_it_expires() -> None:
    now = [100.0]
    words = iter(["one", "two", "three"])
    tokens = Tokens(lambda cancel: Token(next(words), 60.0), clock=lambda: now[0])
    heard = []
    for now[0] in (100.0, 159.0, 160.0, 200.0, 500.0):
        heard.append(tokens.token(CancelToken()))
    assert heard == ["one", "one", "two", "two", "three"]


def test_a_granted_token_lasts_a_minute_less_than_its_server_says(account: Account) -> None:
    with Answering(GRANTED, answer(b'{"access_token":"ya29.x","expires_in":5}')) as server:
        found = read(account.write(token_uri=server.url)["GOOGLE_APPLICATION_CREDENTIALS"])
        assert found
        fetch = granted("vertex", found)
        assert fetch(CancelToken()).life == 3539
        assert fetch(CancelToken()).life == 0


def test_a_command_is_run_again_when_its_token_is_old() -> None:
    runs: list[int] = []

    def run(cancel: Cancel) -> str:
        runs.append(1)
        return "ya29.new"

    with ModelServer() as models:
        provider = vertex.opened(endpoint(models.url, environ=PLACE, token=run))
        for _ in range(2):
            list(provider.stream(request(), CancelToken()))
        provider.close()
        assert len(runs) == 1
        assert models.requests[0].headers["authorization"] == "Bearer ya29.new"
        first = vertex.opened(endpoint(models.url, key="ya29.printed", environ=PLACE, token=run))
        list(first.stream(request(), CancelToken()))
        first.close()
        assert len(runs) == 1  # What it printed at the start still holds.
        assert models.requests[-1].headers["authorization"] == "Bearer ya29.printed"


def test_a_command_that_fails_is_told_in_its_words() -> None:
    def run(cancel: Cancel) -> str:
        raise ConfigError("the command for the key of vertex failed with exit code 1")

    provider = vertex.opened(endpoint("http://127.0.0.1:9", environ=PLACE, token=run))
    with pytest.raises(ProviderRejected, match=r"^vertex: the command for the key of vertex failed with exit code 1$"):
        list(provider.stream(request(), CancelToken()))


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        (answer(b'{"error":"invalid_grant"}', 400), ProviderRejected, 'http 400: {"error":"invalid_grant"}'),
        (answer(b"busy", 503), ProviderUnavailable, "http 503: busy"),
        (answer(b'{"token":"x"}'), ProviderRejected, "something that is no token"),
        (answer(b"not json"), ProviderRejected, "something that is no token"),
        (answer(b'{"access_token":"two words"}'), ProviderRejected, "something that is no token"),
        (answer(b"<html>", kind="text/html"), ProviderRejected, "text/html"),
    ],
)
def test_a_server_that_grants_nothing_is_told_of(
    account: Account, given: bytes, kind: type[ProviderError], words: str
) -> None:
    with Answering(given) as server, pytest.raises(kind) as raised:
        token_of(account.write(token_uri=server.url))
    assert type(raised.value) is kind
    assert words in str(raised.value)


def test_no_error_shows_what_was_sent(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    echo = answer(b'{"error":"bad refresh_token 1//refresh-word of s3cret-word"}', 400)
    said = {"type": "authorized_user", "client_id": "id", "client_secret": "s3cret-word"}
    with Answering(echo) as server:
        path.write_text(json.dumps({**said, "refresh_token": "1//refresh-word", "token_uri": server.url}))
        with pytest.raises(ProviderRejected) as raised:
            token_of({"GOOGLE_APPLICATION_CREDENTIALS": str(path)})
    assert "refresh-word" not in str(raised.value)
    assert "s3cret-word" not in str(raised.value)
    assert "bad refresh_token [key]" in str(raised.value)


def test_an_abort_reaches_a_token_that_does_not_come(account: Account) -> None:
    cancel, raised = CancelToken(), Event()
    with Answering(SILENCE) as server:
        source = account.write(token_uri=server.url)

        def ask() -> None:
            try:
                token_of(source, cancel)
            except Cancelled:
                raised.set()

        thread = Thread(target=ask)
        thread.start()
        server.wait_for(1)
        cancel.set()
        thread.join(10)
        assert raised.is_set()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no credentials of Google Cloud in it"),
        ("[1]", "has no credentials of Google Cloud in it"),
        ("\xff", "has no credentials of Google Cloud in it"),
        ('{"type":"external_account"}', 'of the type "external_account", which linnet cannot use'),
        ('{"type":"service_account","private_key":"secret-pem"}', "lacks client_email"),
        ('{"type":"authorized_user","client_id":"x"}', "lacks client_secret, refresh_token"),
        (
            '{"type":"service_account","client_email":"a","private_key":"p","token_uri":"http://example.org"}',
            "the token_uri must start with https://",
        ),
        (
            '{"type":"service_account","client_email":"a","private_key":"p","token_uri":"file:///etc/passwd"}',
            "is not a URL that can be used",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError) as raised:
        read(str(path))
    assert words in str(raised.value)
    assert "secret-pem" not in str(raised.value)


def test_a_key_that_is_none_is_refused_without_asking_anybody(account: Account) -> None:
    with pytest.raises(ProviderRejected, match=r"the private key of agent@mine\.iam cannot be used"):
        token_of(account.write(private_key="-----BEGIN PRIVATE KEY-----\nZm9v\n-----END PRIVATE KEY-----\n"))


def test_a_package_that_is_missing_is_named(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    with pytest.raises(ProviderRejected, match=r"pip install 'linnet-agent\[vertex\]'"):
        token_of(account.write())


@pytest.fixture(autouse=True)
def nothing_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("GOOGLE_", "GEMINI_", "CLOUDSDK_")):
            monkeypatch.delenv(name)
