"""What `linnet attach` was asked for on its command line: where the server is, and the first line that it is sent."""

TYPE_CHECKING = False  # As in `linnet/__init__.py`: `typing` takes longer than all else here.
if TYPE_CHECKING:
    from collections.abc import Mapping

# The variables that go along to the server. Tests hold them against the table of providers, which would have to be
# imported for this, and all that it imports.
KEY_VARIABLES = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN"),
    *("AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK", "AWS_CONTAINER_AUTHORIZATION_TOKEN"),
    *("AWS_SECRET_ACCESS_KEY", "AWS_SECURITY_TOKEN", "AWS_SESSION_TOKEN"),
    *("AZURE_OPENAI_API_KEY", "CEREBRAS_API_KEY", "DEEPSEEK_API_KEY", "FIREWORKS_API_KEY", "GEMINI_API_KEY"),
    *("GOOGLE_API_KEY", "GOOGLE_CLOUD_API_KEY", "GROQ_API_KEY", "HF_TOKEN", "KIMI_API_KEY", "LITELLM_API_KEY"),
    *("MINIMAX_API_KEY", "MISTRAL_API_KEY", "MOONSHOT_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"),
    *("TOGETHER_API_KEY", "XAI_API_KEY", "ZAI_API_KEY"),
)
PLACE_VARIABLES = ("LINNET_SOCKET", "XDG_RUNTIME_DIR", "LINNET_HOME", "HOME")
LONGEST = 107  # Bytes that the path of a socket may have.
PROGRAMS = ("linnet", "linnet-pi", "linnet-zot")
_VALUES = {
    "--socket": "PATH",
    "--dialect": "NAME",
    "--from": "a whole number, the last one that was seen",
    "--program": ", ".join(PROGRAMS),
}
_SWITCHES = ("--watch", "--cursor", "--open", "--keep", "--help", "-h")
_OF_OPEN = ("--keep", "--program")
_OF_ATTACH = ("--from", "--watch")


class Refused(Exception):
    """One sentence for whoever started the program, and the exit code: 2 for a command line that makes no sense."""

    def __init__(self, sentence: str, code: int = 1) -> None:
        super().__init__(sentence)
        self.code = code


class Asked:
    """What the command line says. `first` is the first line as an object; without `agent` in it, if its type is
    `attach`, whoever is the only one is meant.
    """

    def __init__(self, socket: str, first: "dict[str, object]", *, help: bool = False) -> None:
        self.socket = socket  # Empty if the command line does not name one.
        self.first = first
        self.help = help


def parse(words: "list[str]") -> Asked:
    """Return what the words after `linnet attach` ask for. Raises Refused."""
    given, agent, arguments = _split(words)
    opens = "--open" in given
    for name in _OF_ATTACH if opens else _OF_OPEN:
        if name in given:
            raise Refused(f"{name} is {'not for' if opens else 'only for'} --open; see linnet attach --help", 2)
    if opens and agent is not None:
        raise Refused(f"an agent is opened or attached to, not both; what to open comes after --: {agent!r}", 2)
    if arguments is not None and not opens:
        raise Refused("what comes after -- is for --open; see linnet attach --help", 2)
    first: dict[str, object] = {"type": "open" if opens else "attach"}
    if agent is not None:
        first["agent"] = agent
    if opens:
        first |= {"flags": arguments or [], "keep": "--keep" in given}
    if "--program" in given:
        if given["--program"] not in PROGRAMS:
            raise Refused(f"--program must be one of {_VALUES['--program']}, not {given['--program']!r}", 2)
        first["program"] = given["--program"]
    if "--dialect" in given:
        first["dialect"] = given["--dialect"]
    if "--from" in given:
        number = given["--from"]
        if not (number.isascii() and number.isdigit() and len(number) < 19):
            raise Refused(f"--from must be {_VALUES['--from']}, not {number!r}", 2)
        first["from"] = int(number)
    if "--watch" in given:
        first["role"] = "watch"
    if "--cursor" in given:
        first["cursor"] = True
    return Asked(given.get("--socket", ""), first, help="--help" in given or "-h" in given)


def _split(words: "list[str]") -> "tuple[dict[str, str], str | None, list[str] | None]":
    """Return the flags with their values, the agent, and what comes after `--`; None for what is not there."""
    given: dict[str, str] = {}
    agent = None
    rest = iter(words)
    for word in rest:
        if word == "--":
            return given, agent, list(rest)
        if not word.startswith("-"):
            if agent is not None:
                raise Refused(f"one agent at a time: {word!r}", 2)
            agent = word
            continue
        name, equals, value = word.partition("=")
        if name in _SWITCHES:
            if equals:
                raise Refused(f"{name} takes no value", 2)
        elif name not in _VALUES:
            raise Refused(f"unknown flag {name}; see linnet attach --help", 2)
        elif not equals:
            value = next(rest, "")
        if name in _VALUES and not value:
            raise Refused(f"{name} needs a value: {_VALUES[name]}", 2)
        given[name] = value
    return given, agent, None


def socket_path(named: str, environ: "Mapping[str, str]") -> str:
    """Return the path of the server's socket: the one that was named, else where its users expect it. Raises Refused if
    there is no such place.
    """
    if named or environ.get("LINNET_SOCKET"):
        return named or environ["LINNET_SOCKET"]
    if environ.get("XDG_RUNTIME_DIR"):
        return environ["XDG_RUNTIME_DIR"] + "/linnet/serve.sock"
    home = environ.get("LINNET_HOME") or "~/.linnet"
    if home.startswith("~/") and environ.get("HOME"):
        home = environ["HOME"].rstrip("/") + home[1:]
    elif home.startswith("~"):
        from os.path import expanduser

        home = expanduser(home)
    if not home.startswith("/"):
        raise Refused(f"LINNET_HOME is {home}, which is the folder of whatever project this is; give a whole path")
    return home + "/serve.sock"
