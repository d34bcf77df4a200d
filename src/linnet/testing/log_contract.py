"""Tests of what every log of sessions must do, whoever keeps it. Run them on a factory of your own, with pytest:

class TestMine(LogContract):
    def make(self) -> LogFactory:
        return MyLogs(...)
"""

from linnet.errors import LogRefused, SessionError, SessionInUse
from linnet.store.factory import LogFactory
from linnet.store.header import VERSION, Header
from linnet.store.log import OwnedLog

HEADER = Header("0123-an-id", "2026-01-01T12:00:00.000Z", "/work", None, VERSION)


def line(number: int) -> bytes:
    """Return a line that is an entry."""
    return b'{"type":"session_info","id":"%08d","parentId":null,"timestamp":"","name":"%d"}' % (number, number)


LINES = [line(number) for number in range(6)]


class LogContract:
    """The tests. Each begins with a factory that has no logs."""

    def make(self) -> LogFactory:
        """Return a factory that has no logs. To be overridden."""
        raise NotImplementedError

    def test_lines_are_read_from_anywhere_in_the_order_they_were_appended(self) -> None:
        log = self.make().create(HEADER, [])
        assert log.head() == 0
        log.append_after(0, LINES[:1])
        log.append_after(1, LINES[1:4])
        log.append_after(4, LINES[4:])
        assert log.head() == len(LINES)
        for first in range(len(LINES) + 1):
            assert list(log.read(first)) == LINES[first:]
        log.close()

    def test_a_log_has_the_lines_that_it_was_made_with_and_those_that_were_added(self) -> None:
        logs = self.make()
        log = logs.create(HEADER, LINES[:2])
        assert list(log.read()) == LINES[:2]
        log.append_after(2, LINES[2:])
        log.close()
        log.close()
        assert list(logs.read(log.key).lines) == LINES
        again, found = logs.open(log.key)
        assert (again.key, found.header, list(found.lines), list(again.read())) == (log.key, HEADER, LINES, LINES)
        assert again.head() == len(found.lines)
        assert [node.id for node in found.index.tree.nodes] == [f"{number:08d}" for number in range(len(LINES))]
        again.append_after(len(LINES), [line(9)])
        again.close()
        assert list(logs.read(log.key).lines) == [*LINES, line(9)]

    def test_an_append_whose_answer_was_lost_is_seen_in_the_head_and_refused_a_second_time(self) -> None:
        log = self.make().create(HEADER, LINES[:1])
        log.append_after(1, LINES[1:3])
        assert log.head() == 3
        for head in (0, 1, 2, 4):
            assert _is_refused(log, head, LINES[1:3])
        assert list(log.read()) == LINES[:3]
        log.close()

    def test_one_owner_at_a_time_keeps_others_out_or_is_refused_when_another_comes(self) -> None:
        logs = self.make()
        first = logs.create(HEADER, LINES[:1])
        try:
            second, _ = logs.open(first.key)
        except SessionInUse:
            first.append_after(1, LINES[1:2])
            first.close()
            second, _ = logs.open(first.key)
            second.append_after(2, LINES[2:3])
        else:
            assert second.epoch > first.epoch
            assert _is_refused(first, 1, LINES[1:2])
            second.append_after(1, LINES[1:2])
            assert _is_refused(first, 2, LINES[2:3])
            try:
                first.head()
            except LogRefused:
                pass
            else:
                raise AssertionError("a former owner would take another's lines for its own")
            first.discard()  # It is no longer theirs to take away.
            second.append_after(2, LINES[2:3])
        assert list(second.read()) == LINES[:3]
        second.close()

    def test_a_log_is_found_by_its_id_and_listed_and_can_be_taken_away(self) -> None:
        logs = self.make()
        log = logs.create(HEADER, LINES[:1])
        log.close()
        for word in (HEADER.id, HEADER.id[:6]):
            assert logs.find(word) == log.key
        assert logs.find("another") is None
        assert logs.exists(log.key)
        listed, here = logs.listed(log.key, everywhere=True)
        assert [(info.path, info.id, info.name) for info in listed] == [(log.key, HEADER.id, "0")]
        assert here == log.key
        again, _ = logs.open(log.key)
        again.discard()
        assert not logs.exists(log.key)
        assert logs.find(HEADER.id) is None

    def test_a_key_is_given_once(self) -> None:
        logs = self.make()
        log = logs.create(HEADER, LINES[:1])
        try:
            logs.create(HEADER, [], log.key)
        except SessionError:
            pass
        else:
            raise AssertionError("a second log was made with the same key")
        assert list(log.read()) == LINES[:1]
        log.close()
        try:
            logs.open(f"{log.key}-not")
        except SessionError:
            pass
        else:
            raise AssertionError("a log was opened that is not there")


def _is_refused(log: OwnedLog, head: int, lines: list[bytes]) -> bool:
    try:
        log.append_after(head, lines)
    except LogRefused:
        return True
    return False
