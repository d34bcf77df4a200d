"""What a setting is called, by whom."""

import pytest

from linnet.core.setting_names import keyword
from linnet.flags.flags import TABLE
from linnet.runtime.config.config import Config, flag

# Rules have three flags; what is there unless it is switched off has none that names it.
SAID = {each.field for each in TABLE if each.value is not False} - {"rules"}
FIELDS = sorted(SAID & set(Config.__struct_fields__))


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_is_called_as_its_flag_is(field: str) -> None:
    assert flag(field) in [name for each in TABLE if each.field == field for name in each.names]
    assert keyword(field) == field


def test_what_is_not_kept_is_called_as_it_is_said() -> None:
    assert (flag("no_session"), keyword("no_session")) == ("--no-session", "save=False")
    assert (flag("no_mcp"), keyword("no_mcp")) == ("--no-mcp", "mcp=False")
