"""The table of codes in `docs/schemas.md`, made of the errors: `make golden` runs this, and it writes the table."""

from pathlib import Path

from linnet.schemas.codes import codes

PAGE = Path(__file__).parents[2] / "docs" / "schemas.md"
BEGIN, END = "<!-- made from the errors: make golden -->\n", "<!-- end -->\n"


def rows() -> str:
    return "\n".join(
        ["| `code` | meaning |", "|---|---|", *(f"| `{code}` | {words} |" for code, words in codes().items())]
    )


def made(text: str) -> str:
    """Return the page with the table as it should be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + rows() + "\n\n" + END + after


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text()))
