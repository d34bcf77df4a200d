"""The file of credentials that Google's own programs write: where it is, and what it says.

It is looked at wherever models are listed, so nothing is imported here that only a request needs.
"""

import os
from collections.abc import Mapping

from msgspec import MsgspecError, Struct

from linnet.decoding import decoder_of
from linnet.errors import ConfigError
from linnet.files.reading import contents
from linnet.providers.http import urls
from linnet.providers.provider_rows import Seen

COMMAND = "!gcloud auth print-access-token"
KEY = "GOOGLE_CLOUD_API_KEY"
PROJECT = "GOOGLE_CLOUD_PROJECT"
LOCATION = "GOOGLE_CLOUD_LOCATION"
_VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"
_LARGEST = 1 << 20
_WAYS = (
    f"name a file of credentials in {_VARIABLE}",
    'run "gcloud auth application-default login"',
    f'give a command that prints a token as the key, such as "{COMMAND}"',
)
_BESIDE = (
    f"All but a key take the project that {PROJECT} or the file names; "
    f"{LOCATION} says where it is asked, and is global if it is not set"
)


class CredentialsFile(Struct, frozen=True):
    """What Google's tools write into a file of credentials. Which fields there are depends on the type."""

    type: str
    client_email: str = ""
    private_key: str = ""
    private_key_id: str = ""
    token_uri: str = "https://oauth2.googleapis.com/token"
    client_id: str = ""
    client_secret: str = ""
    refresh_token: str = ""
    project_id: str = ""
    quota_project_id: str = ""

    @property
    def project(self) -> str:
        """Return the project that requests count for, if the file names one."""
        return self.project_id or self.quota_project_id

    def __repr__(self) -> str:
        return f"CredentialsFile(type={self.type!r})"  # A trace shows no key.


def seen(environ: Mapping[str, str]) -> Seen:
    """Return where credentials are, without asking anybody for a token."""
    try:
        kept = found(environ)
    except ConfigError as error:
        return lacking(str(error))
    if kept is None:
        return lacking("no login by gcloud was found either")
    path, credentials = kept
    if not (environ.get(PROJECT) or credentials.project):
        return lacking(f"the credentials in {path} name no project, and {PROJECT} is not set")
    return Seen(_VARIABLE if environ.get(_VARIABLE) else path)


def lacking(problem: str) -> Seen:
    """Return that there are no credentials, why, and all that can be done about it."""
    return Seen("", problem, _WAYS, _BESIDE)


def found(environ: Mapping[str, str]) -> tuple[str, CredentialsFile] | None:
    """Return the path and the content of the file that a variable names, or else of a login by gcloud; None if there is
    neither. Raises ConfigError.
    """
    if named := environ.get(_VARIABLE):
        credentials = read(named)
        if credentials is None:
            raise ConfigError(f"{_VARIABLE} names {named}, which does not exist")
        return named, credentials
    home = environ.get("HOME", "")
    folder = environ.get("CLOUDSDK_CONFIG") or (os.path.join(home, ".config", "gcloud") if home else "")
    path = os.path.join(folder, "application_default_credentials.json")
    credentials = read(path) if folder else None  # Never one that lies where the agent works.
    return (path, credentials) if credentials is not None else None


def read(path: str) -> CredentialsFile | None:
    """Return what a file of credentials says; None if there is no such file. Raises ConfigError for one that cannot be
    used, in words that have nothing of its content.
    """
    text = contents(path, _LARGEST)
    if text is None:
        return None
    try:
        found = decoder_of(CredentialsFile).decode(text)
    except (MsgspecError, UnicodeError, RecursionError):
        raise ConfigError(f"{path} has no credentials of Google Cloud in it") from None
    needed = {
        "service_account": ("client_email", "private_key"),
        "authorized_user": ("client_id", "client_secret", "refresh_token"),
    }.get(found.type)
    if needed is None:
        raise ConfigError(
            f'{path} has credentials of the type "{found.type}", which linnet cannot use; '
            f'keep a command that prints a token instead, such as "{COMMAND}"'
        )
    if lacking := [name for name in needed if not getattr(found, name)]:
        raise ConfigError(f"{path} lacks {', '.join(lacking)}")
    try:
        url = urls.parse(found.token_uri)
    except ConfigError as error:
        raise ConfigError(f"{path}: the token_uri {error}") from None
    if not url.secure and url.host not in ("127.0.0.1", "::1", "localhost"):
        raise ConfigError(f"{path}: the token_uri must start with https://")
    return found
