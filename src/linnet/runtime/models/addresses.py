"""Says at which address a provider is, by the variables that people and vendors' own clients use."""

from collections.abc import Mapping

from linnet.providers.provider_rows import ProviderInfo

_ANYWHERE = ("0.0.0.0", "[::]", "")  # Where a server listens; nobody can be asked there.


def base_url_variable(provider: str) -> str:
    """Return the variable with the provider's address, such as ANTHROPIC_BASE_URL, which the vendors' clients read."""
    return "".join(each if each.isalnum() else "_" for each in provider.upper()) + "_BASE_URL"


def said_url(info: ProviderInfo, environ: Mapping[str, str]) -> str:
    """Return the address that variables give; empty if none does. Raises ConfigError."""
    if url := environ.get(base_url_variable(info.name), ""):
        return url
    host = environ.get(info.host_variable, "").strip() if info.host_variable else ""
    return host_url(host, info.base_url) if host else info.found_url(environ)


def host_url(host: str, usual: str) -> str:
    """Return the address that `HOST`, `HOST:PORT`, `:PORT` or a URL means; what it does not say is as in `usual`, which
    is `http://HOST:PORT/PATH`.
    """
    _, _, rest = usual.partition("://")
    authority, _, path = rest.partition("/")
    here, _, port = authority.rpartition(":")
    if "://" in host:
        scheme, _, said = host.partition("://")
        place, _, own = said.partition("/")
        return host.rstrip("/") if own.strip("/") else f"{scheme}://{place}/{path}"
    place = host.rstrip("/")
    bare = place if place.endswith("]") or ":" not in place else ""
    name, said_port = (bare, port) if bare else (place.rpartition(":")[0], place.rpartition(":")[2])
    return f"http://{here if name in _ANYWHERE else name}:{said_port}/{path}"
