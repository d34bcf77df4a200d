"""The page about settings says what the types say."""

from linnet.cli.setting_words import about
from linnet.runtime.config.setting_keys import keys
from tests.settings.page import PAGE, made


def test_the_table_of_the_page_is_made_from_the_types() -> None:
    text = PAGE.read_text()
    assert made(text) == text, "run make golden"


def test_every_key_is_described() -> None:
    assert [name for name, key in keys().items() if not about(key)] == []
