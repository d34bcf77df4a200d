"""The table of `docs/settings.md`, made from the types: `make golden` runs this, and it writes the table."""

from pathlib import Path

from linnet.cli.setting_words import about, default, kind
from linnet.flags.flags import TABLE
from linnet.runtime.config.setting_keys import EXCLUDED, SettingKey, keys

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
BEGIN, END = "<!-- made from the types: make golden -->\n", "<!-- end -->\n"


def rows() -> str:
    lines = ["| key | type | default | means | flag | project |", "|---|---|---|---|---|---|"]
    lines += [" | ".join((f"| `{key.name}`", *_cells(key))) + " |" for key in keys().values()]
    reasons = {why: [name for name, each in EXCLUDED.items() if each == why] for why in EXCLUDED.values()}
    lines += ["", "| no setting | since it |", "|---|---|"]
    lines += [f"| {', '.join(f'`{name}`' for name in names)} | {why} |" for why, names in reasons.items()]
    return "\n".join(lines) + "\n"


def _cells(key: SettingKey) -> tuple[str, ...]:
    flags = dict.fromkeys(name for flag in TABLE if flag.field == key.name for name in flag.names)
    spelled = ", ".join(f"`{name}`" for name in flags)
    means = about(key).replace("|", "\\|")
    return kind(key), default(key), means, spelled, "yes" if key.from_project else ""


def made(text: str) -> str:
    """Return the page with the table as it should be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + rows() + "\n" + END + after


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text()))
