"""What a check is: one promise, the scene in which it is judged, and a function that says what was seen instead."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from linnet.conform.play import Play
    from linnet.conform.seen import Seen

Tier: TypeAlias = Literal["must", "should", "defect"]
Dialect: TypeAlias = Literal["zot", "pi", "pi-legacy", "pi-0.73", "pi-0.87", "pi-1"]
TIERS: Final[tuple[Tier, ...]] = ("must", "should", "defect")
DIALECTS: Final[tuple[Dialect, ...]] = ("zot", "pi", "pi-legacy", "pi-0.73", "pi-0.87", "pi-1")


class Broken(Exception):
    """A promise does not hold; the words are what was seen instead."""


class Scene(Struct, frozen=True, kw_only=True):
    """One run of the program, from its start to its end. Any number of checks look at what came of it."""

    name: str
    play: "Callable[[Play], None]"
    flags: tuple[str, ...] = ()
    """Words that are put behind the command. `{folder}` is the one that it works in."""
    env: Mapping[str, str] = {}


class Check(Struct, frozen=True, kw_only=True):
    """One promise."""

    id: str
    says: str
    """The promise, as a sentence."""
    source: str
    """The document and its section; else `observed` or `ours`."""
    tier: Tier
    of: tuple[str, ...]
    """The entries of `tests/requirements.toml` that it belongs to."""
    scene: Scene
    judge: "Callable[[Seen], None]"
    """Raises Broken."""
    dialects: frozenset[Dialect]
    whole: bool
    """Whether it holds only if the scene came to its end: so does whatever says that something does not come."""
    originals: Mapping[Dialect, str]
    """What the original does instead, where that is known, by the dialect that it speaks."""


Judge: TypeAlias = "Callable[[Seen], None]"


class Table:
    """The checks of some dialects, in the order in which they are shown."""

    def __init__(self, document: str, *dialects: Dialect) -> None:
        """`document` is what a section belongs to."""
        self.checks: list[Check] = []
        self._document = document
        self._dialects = frozenset(dialects)

    def scene(
        self, name: str, *flags: str, env: Mapping[str, str] | None = None
    ) -> "Callable[[Callable[[Play], None]], Scene]":
        """Return a decorator that makes a scene of the function that plays it."""
        return lambda play: Scene(name=name, play=play, flags=flags, env=env or {})

    def check(
        self,
        id: str,
        scene: Scene,
        section: str,
        *,
        of: tuple[str, ...] = (),
        tier: Tier | None = None,
        whole: bool = False,
        dialects: frozenset[Dialect] | None = None,
        originals: Mapping[Dialect, str] | None = None,
        says: str = "",
    ) -> "Callable[[Judge], Judge]":
        """Return a decorator that adds a row, judged by the function, whose first line of documentation is the promise.

        `section` is one of the document, which makes it a must unless said; or `observed` or `ours`. `of` is the id
        itself unless said.
        """
        documented = section not in ("observed", "ours")

        def add(judge: "Judge") -> "Judge":
            promise = says or (judge.__doc__ or "").strip()
            self.checks.append(
                Check(
                    id=id,
                    says=promise,
                    source=f"{self._document}, {section}" if documented else section,
                    tier=tier or ("must" if documented else "should"),
                    of=of or (id,),
                    scene=scene,
                    judge=judge,
                    dialects=self._dialects if dialects is None else dialects,
                    whole=whole,
                    originals=originals or {},
                )
            )
            return judge

        return add


def expect(holds: object, saw: str) -> None:
    """Raise Broken with what was seen, unless it holds."""
    if not holds:
        raise Broken(saw)


def at(value: Any, *path: str | int) -> Any:
    """Return what is at this place of a frame. Raises Broken where there is no such place."""
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            raise Broken(f"there is no {step!r} in {brief(value)}") from None
    return value


def brief(value: Any, most: int = 200) -> str:
    """Return a frame, or any value of JSON, as text that is not long."""
    import json

    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= most else f"{text[: most - 1]}…"
