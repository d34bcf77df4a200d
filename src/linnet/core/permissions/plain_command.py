"""Reads shell lines that are known to be one plain command. There is no list of what is bad: all else is not plain.

A plain line is words with blanks between them. A word is made of letters, digits and a few signs that mean nothing to a
shell or only stand for names of files, and of closed quotes in which nothing has a meaning.
"""

import re

# Of control characters only a tab, which is a blank: the others have no business in an argument.
_PART = re.compile(
    r"""(?P<blank>[ \t]+)
      | (?P<bare>[A-Za-z0-9_\-./:=@%+,~*?]+)
      | '(?P<single>[^'$`\\\x00-\x08\x0a-\x1f\x7f]*)'
      | "(?P<double>[^"$`\\\x00-\x08\x0a-\x1f\x7f]*)"
    """,
    re.VERBOSE,
)


def plain_words(line: str) -> list[str] | None:
    """Return the words of a line that is nothing but plain words, with quotes undone; None if it may be more."""
    words: list[str] = []
    at, inside = 0, False
    while at < len(line):
        part = _PART.match(line, at)
        if part is None:
            return None
        at = part.end()
        if part["blank"] is not None:
            inside = False
            continue
        text = part[part.lastgroup or 0]
        if inside:
            words[-1] += text
        else:
            words.append(text)
        inside = True
    return words


def plain_command(line: str) -> list[str] | None:
    """Return the words of a line that runs the program that is its first word, and nothing else; else None.

    Names of files may be made of `*`, `?` and `~` in its arguments; the program is the one that is named.
    """
    words = plain_words(line)
    if not words or not words[0] or any(sign in words[0] for sign in "=*?"):
        return None  # An assignment, or a program that depends on which files there are.
    return words


def not_plain(line: str) -> str:
    """Return the first character that keeps a line from being plain words; empty if it is plain."""
    at = 0
    while at < len(line):
        part = _PART.match(line, at)
        if part is None:
            quoted = line[at + 1 :] if line[at] in "'\"" else ""
            return next((sign for sign in quoted if sign in "$`\\\n"), line[at])
        at = part.end()
    return ""


def shown(words: list[str]) -> str:
    """Return the words as one line, in which a word with blanks in it cannot be taken for several."""
    return " ".join(word if word and " " not in word and "\t" not in word else f"'{word}'" for word in words)
