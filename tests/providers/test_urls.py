import pytest

from linnet.errors import ConfigError
from linnet.providers.http import proxies, urls
from linnet.providers.http.urls import Url, endpoint, parse


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://api.example.com", Url("https", "api.example.com", 443)),
        ("HTTP://Example.com:8080/a/b?c=d#e", Url("http", "example.com", 8080, "/a/b?c=d")),
        ("http://[::1]:9/x", Url("http", "::1", 9, "/x")),
        ("http://user:p%40ss@proxy:3128", Url("http", "proxy", 3128, "/", "user:p%40ss")),
        ("http://host?x=1", Url("http", "host", 80, "/?x=1")),
    ],
)
def test_a_url_is_taken_apart(text: str, url: Url) -> None:
    assert parse(text) == url


@pytest.mark.parametrize(
    "text",
    [
        *("", "example.com", "ftp://x", "http://", "http://:80", "https:///path"),
        *("http://x:0", "http://x:99999", "http://x:a", "http://x:１"),
        *("http://a b", "http://x/\r\nHost: evil", "http://é.example", "http://a[::1]"),
    ],
)
def test_what_is_not_a_usable_url_is_a_mistake_in_the_settings(text: str) -> None:
    with pytest.raises(ConfigError):
        parse(text)


def test_a_host_header_leaves_out_what_goes_without_saying() -> None:
    assert parse("https://x").authority == "x"
    assert parse("https://x:444").authority == "x:444"
    assert parse("http://[::1]").authority == "[::1]"
    assert parse("http://[::1]").address == "[::1]:80"


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("http://127.0.0.1:1234", "http://127.0.0.1:1234/v1/chat/completions"),
        ("http://127.0.0.1:1234/", "http://127.0.0.1:1234/v1/chat/completions"),
        ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
        ("https://gateway.example/openai", "https://gateway.example/openai/chat/completions"),
        ("https://x/api/v3", "https://x/api/v3/chat/completions"),
        ("https://x/chat/completions", "https://x/chat/completions"),
        ("https://x/a/chat/completions/?b=c", "https://x/a/chat/completions?b=c"),
    ],
)
def test_an_endpoint_is_found_under_any_base(base: str, expected: str) -> None:
    assert urls.endpoint is endpoint
    assert endpoint(base, "v1", "chat/completions") == expected


PROXY = {"https_proxy": "http://proxy:1", "HTTP_PROXY": "proxy:2"}


def chosen(url: str, **environ: str) -> str | None:
    proxy = proxies.choose(parse(url), {**PROXY, **environ})
    return proxy.address if proxy else None


def test_the_scheme_decides_which_proxy() -> None:
    assert chosen("https://x") == "proxy:1"
    assert chosen("http://x") == "proxy:2"
    assert proxies.choose(parse("https://x"), {}) is None
    assert proxies.choose(parse("https://x"), {"ALL_PROXY": "all:3"}) == Url("http", "all", 3)


@pytest.mark.parametrize("url", ["http://localhost", "http://127.0.0.1:8080", "http://[::1]", "http://a.localhost"])
def test_this_very_machine_is_spoken_to_directly(url: str) -> None:
    assert chosen(url) is None


@pytest.mark.parametrize(
    ("exceptions", "url", "direct"),
    [
        ("*", "https://x", True),
        ("example.com", "https://example.com", True),
        ("example.com", "https://api.example.com", True),
        (".example.com", "https://api.example.com", True),
        ("*.example.com", "https://api.example.com", True),
        ("example.com", "https://notexample.com", False),
        ("a, EXAMPLE.com ,b", "https://example.com", True),
        ("example.com:443", "https://example.com", True),
        ("example.com:8443", "https://example.com", False),
        ("10.0.0.0/8", "https://10.1.2.3", True),
        ("10.0.0.0/8", "https://11.1.2.3", False),
        ("10.0.0.0/8", "https://example.com", False),
        ("fe80::1", "https://[fe80::1]", True),
        ("[fe80::1]:443", "https://[fe80::1]", True),
        ("", "https://x", False),
    ],
)
def test_exceptions_are_respected(exceptions: str, url: str, direct: bool) -> None:
    assert (chosen(url, NO_PROXY=exceptions) is None) is direct


@pytest.mark.parametrize("proxy", ["socks5://x:1", "https://x:1", "http://"])
def test_a_proxy_that_cannot_be_used_is_a_mistake_in_the_settings(proxy: str) -> None:
    with pytest.raises(ConfigError):
        chosen("https://x", https_proxy=proxy)
