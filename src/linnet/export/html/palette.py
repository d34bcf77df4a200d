"""Turns colours that a command asked for into classes of the page's one stylesheet: no element has its own style."""

from typing import TypeAlias

RGB: TypeAlias = tuple[int, int, int]

# The grounds of such text in the light and in the dark theme: `--block` of page.css.
PAPER: RGB = (246, 245, 242)
NIGHT: RGB = (30, 33, 34)
MOST = 4096
READABLE = 4.5  # The contrast that WCAG asks for.
_STEPS = (0, 95, 135, 175, 215, 255)
# The terminal's own 16 colours, for text with a background. Elsewhere the style sheet has gentler ones.
_OWN = bytes.fromhex(
    "0b0c0d b8352f 2f7d43 d8a51e 1f5fae 93408b 14777d d5d3cd 6d6c66 ee8f87 8cc69a efcd7d 8bb8ea d79bd2 77c5c7 ffffff"
)


class Palette:
    """The colours of one page. Invariant: every class that was returned is in the stylesheet.

    After MOST classes, only the 216 colours of a coarse grid are added.
    """

    def __init__(self) -> None:
        self._rules: dict[str, str] = {}

    def ink(self, colour: RGB) -> str:
        """Return the class of text on the page itself, readable in the light and in the dark theme."""
        return self._class("f", colour, "color:light-dark({light},{dark})")

    def exact(self, colour: RGB) -> str:
        """Return the class of text on a background that has a colour too."""
        return self._class("x", colour, "color:{same}")

    def ground(self, colour: RGB) -> str:
        """Return the class of a background."""
        return self._class("b", colour, "background:{same}")

    def stylesheet(self) -> str:
        return "".join(f".{name}{{{rule}}}" for name, rule in sorted(self._rules.items()))

    def _class(self, prefix: str, colour: RGB, rule: str) -> str:
        name = f"{prefix}-{_hex(colour)}"
        if name not in self._rules:
            if len(self._rules) >= MOST:
                colour = _near(colour)
                name = f"{prefix}-{_hex(colour)}"
            light, dark = _towards(colour, (0, 0, 0), PAPER), _towards(colour, (255, 255, 255), NIGHT)
            self._rules[name] = rule.format(light=f"#{_hex(light)}", dark=f"#{_hex(dark)}", same=f"#{_hex(colour)}")
        return name


def indexed(number: int) -> RGB:
    """Return one of the 240 colours from 16 on, which are the same in all terminals."""
    if number >= 232:
        grey = 8 + (number - 232) * 10
        return grey, grey, grey
    number -= 16
    return _STEPS[number // 36], _STEPS[number // 6 % 6], _STEPS[number % 6]


def own(number: int) -> RGB:
    """Return one of the terminal's own 16 colours."""
    red, green, blue = _OWN[number * 3 : number * 3 + 3]
    return red, green, blue


def readable(ink: RGB, ground: RGB) -> RGB:
    """Return `ink`, mixed with as little black or white as makes it readable on `ground`."""
    return _towards(ink, opposite(ground), ground)


def opposite(ground: RGB) -> RGB:
    """Return black or white, whichever is easier to read on `ground`."""
    return max(((0, 0, 0), (255, 255, 255)), key=lambda ink: _contrast(ink, ground))


def _near(colour: RGB) -> RGB:
    red, green, blue = (min(_STEPS, key=lambda step: abs(step - part)) for part in colour)
    return red, green, blue


def _towards(colour: RGB, end: RGB, ground: RGB) -> RGB:
    """Return `colour`, mixed with as little of `end` as makes it readable on `ground`."""
    mixed = colour
    for tenth in range(11):
        red, green, blue = (part + (goal - part) * tenth // 10 for part, goal in zip(colour, end, strict=True))
        mixed = (red, green, blue)
        if _contrast(mixed, ground) >= READABLE:
            break
    return mixed


def _contrast(one: RGB, other: RGB) -> float:
    dim, bright = sorted((_luminance(one), _luminance(other)))
    return (bright + 0.05) / (dim + 0.05)


def _luminance(colour: RGB) -> float:
    red, green, blue = (part / 3294.6 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _hex(colour: RGB) -> str:
    return "{:02x}{:02x}{:02x}".format(*colour)
