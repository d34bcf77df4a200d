"""Asks those who lend credentials for a while: AWS's token service, its login portal, and what runs beside a container
or under a virtual machine. Each function returns credentials, or raises ProviderError, ConfigError or Cancelled.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

from msgspec import MsgspecError, Struct
from msgspec.json import decode

from linnet.core.cancel import Cancel
from linnet.errors import ConfigError, ProviderError
from linnet.files.reading import required
from linnet.providers.bedrock.credentials import checked_region
from linnet.providers.bedrock.sigv4 import Credentials, Scope, signed
from linnet.providers.endpoint import Run
from linnet.providers.http.call import HttpCall
from linnet.providers.http.client import HttpClient, Timeouts

_LARGEST = 1 << 20
_SESSION = "linnet"
_LOCAL = Timeouts(connect=1.0, idle=2.0)  # Where it is not, nobody answers at all.
_CONTAINER = "http://169.254.170.2"
_CONTAINER_HOSTS = ("127.0.0.1", "::1", "localhost", "169.254.170.2", "169.254.170.23", "fd00:ec2::23")
_METADATA = "http://169.254.169.254"
_TOKEN_TTL = "21600"
Clock: TypeAlias = Callable[[], float]


class Lenders(Struct, frozen=True):
    """Where they are asked from."""

    provider: str
    environ: Mapping[str, str]
    region: str
    now: Clock
    run: Run | None = None
    timeouts: Timeouts | None = None

    def assumed(self, profile: Mapping[str, str], by: Credentials, cancel: Cancel) -> Credentials:
        """Return the credentials of a profile's role, for those who may take it on."""
        fields = {"RoleArn": profile["role_arn"], "RoleSessionName": profile.get("role_session_name", _SESSION)}
        if "external_id" in profile:
            fields["ExternalId"] = profile["external_id"]
        if "duration_seconds" in profile:
            fields["DurationSeconds"] = profile["duration_seconds"]
        return self._role("AssumeRole", fields, by, cancel)

    def identified(self, role: str, token_file: str, session: str, cancel: Cancel) -> Credentials:
        """Return the credentials of a role, for whoever has the token in this file."""
        token = required(token_file).decode("utf-8", "replace").strip()
        fields = {"RoleArn": role, "RoleSessionName": session or _SESSION, "WebIdentityToken": token}
        return self._role("AssumeRoleWithWebIdentity", fields, None, cancel, [token])

    def logged_in(self, settings: Mapping[str, str], cache: str, cancel: Cancel) -> Credentials:
        """Return the credentials of a login by `aws sso login`, whose token is in a folder of this path."""
        from hashlib import sha1

        name = settings.get("sso_session") or settings.get("sso_start_url", "")
        path = f"{cache}/{sha1(name.encode()).hexdigest()}.json"
        hint = "log in with: aws sso login"
        try:
            kept = _object(required(path))
            token, ends = str(kept["accessToken"]), _time(kept["expiresAt"])
        except (ConfigError, KeyError, ValueError):
            raise ConfigError(f"no login of AWS SSO was found for this profile; {hint}") from None
        if ends is not None and ends <= self.now():
            raise ConfigError(f"the login of AWS SSO has ended; {hint}")
        asked = {name: settings.get(f"sso_{name}", "") for name in ("role_name", "account_id")}
        url = self._url("SSO", f"portal.sso.{checked_region(settings.get('sso_region', self.region))}")
        call = HttpCall(f"/federation/credentials?{urlencode(asked)}", {"x-amz-sso_bearer_token": token}, method="GET")
        found = _object(self._ask(url, call, cancel, [token])).get("roleCredentials")
        return _lent(found if isinstance(found, dict) else {}, "the credentials of AWS SSO")

    def beside_container(self, cancel: Cancel) -> Credentials:
        """Return the credentials of the container that this runs in."""
        environ = self.environ
        relative = environ.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "")
        url = f"{_CONTAINER}{relative}" if relative else environ["AWS_CONTAINER_CREDENTIALS_FULL_URI"]
        token = environ.get("AWS_CONTAINER_AUTHORIZATION_TOKEN", "")
        if path := environ.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"):
            token = required(path).decode("utf-8", "replace").strip()
        client = self._client(url, _LOCAL, [token] if token else [])
        if not client.url.secure and client.url.host not in _CONTAINER_HOSTS:
            raise ConfigError(f"AWS_CONTAINER_CREDENTIALS_FULL_URI leads to {client.url.host}, which may not be asked")
        call = HttpCall(client.url.path, {"Authorization": token} if token else {}, method="GET")
        return _lent(_object(_body(client, call, cancel)), "the container's credentials")

    def under_machine(self, cancel: Cancel) -> Credentials:
        """Return the credentials of the virtual machine that this runs on (version 2 of its metadata service)."""
        base = self.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or _METADATA
        client = self._client(base, _LOCAL, [])
        ttl = {"X-aws-ec2-metadata-token-ttl-seconds": _TOKEN_TTL}
        token = _body(client, HttpCall("/latest/api/token", ttl, method="PUT"), cancel).decode("utf-8", "replace")
        passing = {"X-aws-ec2-metadata-token": token.strip()}
        place = "/latest/meta-data/iam/security-credentials/"
        role = _body(client, HttpCall(place, passing, method="GET"), cancel).decode("utf-8", "replace").strip()
        answer = _body(client, HttpCall(place + quote(role.split("\n")[0]), passing, method="GET"), cancel)
        return _lent(_object(answer), "the machine's credentials")

    def printed(self, command: str, cancel: Cancel) -> Credentials:
        """Return the credentials that a program prints."""
        import shlex

        if self.run is None:
            raise ConfigError("the profile has a credential_process, which cannot be run from here")
        try:
            argv = shlex.split(command)
        except ValueError as error:
            raise ConfigError(f"the profile's credential_process is no command: {error}") from None
        said = _object(self.run(argv, cancel))
        if said.get("Version") != 1:
            raise ConfigError("the profile's credential_process printed something that is not of version 1")
        return _lent({**said, "Token": said.get("SessionToken")}, "the credentials that the profile's program prints")

    def _role(
        self,
        action: str,
        fields: Mapping[str, str],
        by: Credentials | None,
        cancel: Cancel,
        secrets: Sequence[str] = (),
    ) -> Credentials:
        url = self._url("STS", f"sts.{self.region}")
        client = self._client(url, self.timeouts, secrets)
        body = [urlencode({"Action": action, "Version": "2011-06-15", **fields}).encode()]
        kind = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
        headers = dict(kind)
        if by is not None:
            named = {**kind, "Host": client.url.authority}
            headers |= signed("POST", "/", named, body, by, Scope(self.region, "sts"), self.now())
        return _from_xml(_body(client, HttpCall("/", headers, body), cancel))

    def _ask(self, url: str, call: HttpCall, cancel: Cancel, secrets: Sequence[str]) -> bytes:
        return _body(self._client(url, self.timeouts, secrets), call, cancel)

    def _client(self, url: str, timeouts: Timeouts | None, secrets: Sequence[str]) -> HttpClient:
        client = HttpClient(self.provider, url, {}, timeouts, secrets)
        client.max_reply = _LARGEST
        return client

    def _url(self, service: str, host: str) -> str:
        given = self.environ.get(f"AWS_ENDPOINT_URL_{service}") or self.environ.get("AWS_ENDPOINT_URL")
        return given or f"https://{host}.{suffix(self.region)}"


def suffix(region: str) -> str:
    """Return how the names of AWS's hosts end in a region."""
    return "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"


def _body(client: HttpClient, call: HttpCall, cancel: Cancel) -> bytes:
    """Return all of an answer. No error has a secret in it."""
    try:
        reply = client.post(call, cancel, accept=lambda kind: True)
        pieces: list[bytes] = []
        try:
            while piece := reply.read():
                pieces.append(piece)
        finally:
            reply.close()
        return b"".join(pieces)
    except ProviderError as error:
        from linnet.core.text.secret_forms import without

        error.args = (without(f"{error} (while credentials were asked for)", client.secrets),)
        raise


def _object(data: bytes) -> dict[str, Any]:
    """Return a JSON object. Raises ConfigError for anything else, without a word of it."""
    try:
        found = decode(data)
    except (MsgspecError, UnicodeDecodeError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ConfigError("what should be AWS credentials is no JSON object")
    return found


def _lent(said: Mapping[str, Any], whose: str) -> Credentials:
    """Return the credentials that an object has, in the spelling of any of the lenders."""
    plain = {name.lower(): value for name, value in said.items()}
    access, secret = plain.get("accesskeyid"), plain.get("secretaccesskey")
    token = plain.get("sessiontoken") or plain.get("token") or ""
    if not (isinstance(access, str) and access and isinstance(secret, str) and secret and isinstance(token, str)):
        raise ConfigError(f"{whose} have no keys")
    try:
        return Credentials(access, secret, token, _time(plain.get("expiration")))
    except ValueError:
        raise ConfigError(f"{whose} expire at a time that cannot be read") from None


def _from_xml(data: bytes) -> Credentials:
    """Return the credentials in an answer of the token service."""
    import re
    from html import unescape

    text = data.decode("utf-8", "replace")
    names = ("AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration")
    found = {name: re.search(rf"<{name}>\s*([^<]*?)\s*</{name}>", text) for name in names}
    return _lent({name: unescape(match[1]) for name, match in found.items() if match}, "the role's credentials")


def _time(value: Any) -> float | None:
    """Return a Unix time; None for none. Raises ValueError for what is no time."""
    if value is None:
        return None
    if isinstance(value, int | float):
        return value / 1000  # The portal counts milliseconds.
    from datetime import UTC, datetime

    moment = datetime.fromisoformat(str(value).replace("UTC", "Z"))
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
