"""Where models are asked on Vertex AI, and what lets a request in there."""

import re
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from linnet.core.cancel import Cancel
from linnet.errors import ConfigError, MissingKey
from linnet.providers.endpoint import Endpoint
from linnet.providers.google.credentials import Token, Tokens, granted, printed
from linnet.providers.google.credentials_file import KEY, LOCATION, PROJECT, found, lacking
from linnet.providers.http.call import HttpCall
from linnet.providers.http.client import HttpClient
from linnet.providers.http_provider import Authorize

HOME = "https://aiplatform.googleapis.com"
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
_SHARED = ("us", "eu")  # Each is many regions.


class Cloud(Struct, frozen=True):
    """A server of Vertex AI."""

    endpoint: Endpoint
    client: HttpClient
    parent: str
    """The path under which publishers are."""
    authorize: Authorize | None = None


def cloud(endpoint: Endpoint) -> Cloud:
    """Return where this endpoint's models are asked, with which credentials: a key, a command that prints tokens, the
    file that GOOGLE_APPLICATION_CREDENTIALS names, or that of a login by gcloud. Raises ConfigError.
    """
    environ = endpoint.environ
    own = endpoint.base_url.strip().rstrip("/") != HOME
    authorize: Authorize | None = None
    headers: Mapping[str, str] = {}
    project = environ.get(PROJECT, "")
    if endpoint.token is not None:
        tokens = Tokens(printed(endpoint.provider, endpoint.token), Token(endpoint.key) if endpoint.key else None)
        authorize = _bearing(tokens)
    elif endpoint.key.startswith("ya29."):  # A token that somebody has printed.
        headers = {"Authorization": f"Bearer {endpoint.key}"}
    elif endpoint.key:
        headers = endpoint.credentials("x-goog-api-key")
    elif kept := found(environ):
        path, credentials = kept
        authorize = _bearing(
            Tokens(granted(endpoint.provider, credentials, endpoint.timeouts)), credentials.quota_project_id
        )
        project = project or credentials.project
        endpoint = replace(endpoint, advice=f"the credentials are those of {path}")
    elif not own:
        none = lacking("no login by gcloud was found either")
        raise MissingKey(endpoint.provider, KEY, problem=none.problem, ways=none.ways, beside=none.beside)
    if not project and not own and "x-goog-api-key" not in headers:
        raise ConfigError(f"{endpoint.provider} needs the name of a project; set {PROJECT}")
    location = _word(environ, LOCATION) or "global"
    base = endpoint.base_url.strip().rstrip("/").removesuffix("/v1") if own else f"https://{_host(location)}"
    client = HttpClient(endpoint.provider, f"{base}/v1", {**headers, **endpoint.headers}, endpoint.timeouts)
    place = f"/projects/{_checked(PROJECT, project)}/locations/{location}" if project else ""
    return Cloud(endpoint, client, f"{client.url.path}{place}", authorize)


def _bearing(tokens: Tokens, billed: str = "") -> Authorize:
    """Return what adds a token to each request. `billed` is the project that the user's requests count for."""

    def authorize(call: HttpCall, cancel: Cancel) -> Mapping[str, str]:
        headers = {"Authorization": f"Bearer {tokens.token(cancel)}"}
        return {**headers, "x-goog-user-project": billed} if billed else headers

    return authorize


def _host(location: str) -> str:
    if location == "global":
        return "aiplatform.googleapis.com"
    if location in _SHARED:
        return f"aiplatform.{location}.rep.googleapis.com"
    return f"{location}-aiplatform.googleapis.com"


def _word(environ: Mapping[str, str], variable: str) -> str:
    return _checked(variable, environ.get(variable, "").strip())


def _checked(what: str, word: str) -> str:
    """Return a word that may stand in an address. Raises ConfigError for any other."""
    if word and not _WORD.fullmatch(word):
        raise ConfigError(f"{what}: {word!r} is no name that Google Cloud gives")
    return word
