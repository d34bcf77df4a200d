"""Finds AWS credentials and the region, in the variables and files that AWS's own programs read.

Nothing is asked over the network before a request needs it, and nothing that only a lender needs is imported.
"""

import os
from collections.abc import Callable, Mapping
from threading import Lock
from time import time
from typing import TYPE_CHECKING, TypeAlias

from linnet.core.cancel import Cancel
from linnet.errors import ConfigError, ProviderError
from linnet.providers.bedrock import aws_files
from linnet.providers.bedrock.aws_files import AwsFiles
from linnet.providers.provider_rows import Seen

if TYPE_CHECKING:
    from linnet.providers.bedrock.lenders import Lenders
    from linnet.providers.bedrock.sigv4 import Credentials

_EARLY = 300.0  # So many seconds before credentials expire, others are fetched.
_DEFAULT_REGION = "us-east-1"
_NOT_DISABLED = ("false", "0", "no")
_WAYS = ("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", "name a profile of ~/.aws in AWS_PROFILE")
_BESIDE = f"AWS_REGION or the profile says where it is asked; otherwise that is {_DEFAULT_REGION}"
Source: TypeAlias = Callable[["Lenders", Cancel], "Credentials"]


def seen(environ: Mapping[str, str]) -> Seen:
    """Return where credentials are, without asking anybody for them."""
    try:
        found = find(environ, aws_files.read(environ))
    except ConfigError as error:
        return Seen("", str(error), _WAYS, _BESIDE)
    if found is None:
        return Seen("", "no AWS credentials were found either, in variables or in ~/.aws", _WAYS, _BESIDE)
    return Seen(found[0])


def region(environ: Mapping[str, str], model: str = "", files: AwsFiles | None = None) -> str:
    """Return the region that a model is asked in: that of its ARN, else of the variables, else of the profile. Raises
    ConfigError for what is no name of one: hosts are named by it.
    """
    if model.startswith("arn:"):
        parts = model.split(":")
        if len(parts) > 3 and parts[3]:
            return checked_region(parts[3])
    given = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")
    if not given:
        files = aws_files.read(environ) if files is None else files
        given = files.profiles.get(_profile(environ), {}).get("region")
    return checked_region(given or _DEFAULT_REGION)


def checked_region(region: str) -> str:
    """Return the name of a region. Raises ConfigError if it could lead elsewhere."""
    if not (region.isascii() and region.replace("-", "").isalnum()):
        raise ConfigError(f'no region of AWS is called "{region}"; set AWS_REGION, or the region of the profile')
    return region


def find(environ: Mapping[str, str], files: AwsFiles) -> tuple[str, Source] | None:
    """Return what gives credentials, and the words for where they are; None if there is nothing. Raises ConfigError
    for a profile that cannot be used.
    """
    if environ.get("AWS_ACCESS_KEY_ID") and environ.get("AWS_SECRET_ACCESS_KEY"):
        return "AWS_ACCESS_KEY_ID", lambda lenders, cancel: _of_variables(environ)
    name = _profile(environ)
    if name not in files.profiles and name != "default":
        raise ConfigError(f'no profile is called "{name}" in {" or ".join(aws_files.paths(environ))}')
    token_file, role = environ.get("AWS_WEB_IDENTITY_TOKEN_FILE"), environ.get("AWS_ROLE_ARN")
    if name in files.profiles and (source := _of_profile(name, environ, files, ())):
        return f"the profile {name}", source
    if token_file and role:
        session = environ.get("AWS_ROLE_SESSION_NAME", "")
        return (
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            lambda lenders, cancel: lenders.identified(role, token_file, session, cancel),
        )
    if _in_container(environ):
        return "the container", lambda lenders, cancel: lenders.beside_container(cancel)
    if _on_machine(environ):
        return "the machine", lambda lenders, cancel: lenders.under_machine(cancel)
    return None


class KeptCredentials:
    """The credentials of one process. They are found again when a file has changed, and fetched again before they
    expire. Any thread may ask.
    """

    def __init__(self, environ: Mapping[str, str], now: Callable[[], float] = time) -> None:
        self._environ = environ
        self._now = now
        self._lock = Lock()
        self._state: object = None
        self._source: Source | None = None
        self._kept: Credentials | None = None

    def get(self, lenders: "Lenders", cancel: Cancel) -> "Credentials | None":
        """Return what a request is signed with; None if there is nothing. Raises ConfigError, ProviderError and
        Cancelled.
        """
        with self._lock:
            state = [_state(path) for path in aws_files.paths(self._environ)]
            if state != self._state:
                found = find(self._environ, aws_files.read(self._environ))
                self._source, self._kept, self._state = found[1] if found else None, None, state
            if self._source is None:
                return None
            kept = self._kept
            if kept is None or (kept.expires is not None and kept.expires - self._now() < _EARLY):
                try:
                    self._kept = self._source(lenders, cancel)
                except ProviderError:
                    if kept is None or kept.expires is None or kept.expires <= self._now():
                        raise
            return self._kept


def _state(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _profile(environ: Mapping[str, str]) -> str:
    return environ.get("AWS_PROFILE") or environ.get("AWS_DEFAULT_PROFILE") or "default"


def _in_container(environ: Mapping[str, str]) -> bool:
    names = ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI")
    return any(environ.get(name) for name in names)


def _on_machine(environ: Mapping[str, str]) -> bool:
    """Return whether the machine may be asked. Only where somebody says so: elsewhere nobody answers."""
    return environ.get("AWS_EC2_METADATA_DISABLED", "").lower() in _NOT_DISABLED


def _of_variables(environ: Mapping[str, str]) -> "Credentials":
    from linnet.providers.bedrock.sigv4 import Credentials

    token = environ.get("AWS_SESSION_TOKEN") or environ.get("AWS_SECURITY_TOKEN") or ""
    return Credentials(environ["AWS_ACCESS_KEY_ID"], environ["AWS_SECRET_ACCESS_KEY"], token)


def _of_profile(name: str, environ: Mapping[str, str], files: AwsFiles, before: tuple[str, ...]) -> Source | None:
    """Return what gives the credentials of a profile; None if it has none. `before` are the profiles that lead to it.
    Raises ConfigError.
    """
    values = files.profiles.get(name)
    if values is None:
        raise ConfigError(f'the profile "{before[-1]}" has the source_profile "{name}", which is not there')
    if values.get("role_arn") and name not in before:
        return _of_role(name, values, environ, files, before)
    if values.get("aws_access_key_id") and values.get("aws_secret_access_key"):
        return lambda lenders, cancel: _of_file(values)
    if values.get("sso_session") or values.get("sso_start_url"):
        session = files.sso_sessions.get(values.get("sso_session", ""), {})
        cache = os.path.join(aws_files.home(environ), "sso", "cache")
        return lambda lenders, cancel: lenders.logged_in({**session, **values}, cache, cancel)
    if command := values.get("credential_process"):
        return lambda lenders, cancel: lenders.printed(command, cancel)
    if name in before:
        raise ConfigError(f'the profile "{name}" is its own source_profile')
    return None


def _of_file(values: Mapping[str, str]) -> "Credentials":
    from linnet.providers.bedrock.sigv4 import Credentials

    token = values.get("aws_session_token", "")
    return Credentials(values["aws_access_key_id"], values["aws_secret_access_key"], token)


def _of_role(
    name: str, values: Mapping[str, str], environ: Mapping[str, str], files: AwsFiles, before: tuple[str, ...]
) -> Source:
    if values.get("mfa_serial"):
        raise ConfigError(
            f'the profile "{name}" wants the code of a device (mfa_serial), which nobody can be asked for'
        )
    if token_file := values.get("web_identity_token_file"):
        session = values.get("role_session_name", "")
        return lambda lenders, cancel: lenders.identified(values["role_arn"], token_file, session, cancel)
    source: Source | None
    if other := values.get("source_profile"):
        source = _of_profile(other, environ, files, (*before, name))
    else:
        source = _credential_source(values.get("credential_source", ""), environ)
    if source is None:
        problem = "has a role_arn, but neither a source_profile nor a credential_source with credentials"
        raise ConfigError(f'the profile "{name}" {problem}')
    known = source
    return lambda lenders, cancel: lenders.assumed(values, known(lenders, cancel), cancel)


def _credential_source(word: str, environ: Mapping[str, str]) -> Source | None:
    match word:
        case "Environment" if environ.get("AWS_ACCESS_KEY_ID") and environ.get("AWS_SECRET_ACCESS_KEY"):
            return lambda lenders, cancel: _of_variables(environ)
        case "EcsContainer" if _in_container(environ):
            return lambda lenders, cancel: lenders.beside_container(cancel)
        case "Ec2InstanceMetadata":
            return lambda lenders, cancel: lenders.under_machine(cancel)
        case _:
            return None
