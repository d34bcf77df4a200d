"""What a setting is called, by whom."""

import pytest

from linnet.core import spelling
from linnet.flags import TABLE
from linnet.runtime.config import Config

# Rules have three flags; what is there unless it is switched off has none that names it.
SAID = {flag.field for flag in TABLE if flag.value is not False} - {"rules"}
FIELDS = sorted(SAID & set(Config.__struct_fields__))


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_is_called_as_its_flag_is(field: str) -> None:
    assert spelling.flag(field) in [name for flag in TABLE if flag.field == field for name in flag.names]
    assert spelling.keyword(field) == field


def test_what_is_not_kept_is_called_as_it_is_said() -> None:
    assert (spelling.flag("no_session"), spelling.keyword("no_session")) == ("--no-session", "save=False")
    assert (spelling.flag("no_mcp"), spelling.keyword("no_mcp")) == ("--no-mcp", "mcp=False")
