"""A reply that repeats itself is noticed; one that only has repetitions in it is left alone."""

from hypothesis import given
from hypothesis import strategies as st

from linnet.providers.local.repetition import LENGTH, LONGEST_PERIOD, Repetition


def noticed(text: str, size: int = 5) -> bool:
    """Return whether any piece of the text, cut into pieces of this size, ends in circles."""
    repetition = Repetition()
    return any(repetition.heard_in(text[start : start + size]) for start in range(0, len(text), size))


@given(st.text(min_size=1, max_size=LONGEST_PERIOD), st.text(max_size=50), st.integers(1, 40))
def test_the_same_words_again_and_again_are_noticed_however_they_come(words: str, before: str, size: int) -> None:
    text = before + words * (2 * LENGTH // len(words) + 1)
    assert noticed(text, size)


@given(st.text(min_size=1, max_size=LONGEST_PERIOD))
def test_a_shorter_repetition_is_left_alone(words: str) -> None:
    text = (words * LENGTH)[: LENGTH - 1]
    assert not noticed(text)


def test_numbered_lines_are_no_repetition() -> None:
    assert not noticed("\n".join(f"{number}. This is a test." for number in range(500)))
