import os
import tempfile
import threading
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.concurrency.cancel import CancelToken
from linnet.core.messages import Image
from linnet.errors import Cancelled
from linnet.processes.process import Processes
from linnet.tools.context import ToolContext
from linnet.tools.read import read
from linnet.tools.text.truncate import MAX_BYTES, MAX_LINES

if TYPE_CHECKING:
    from tests.tools.bench import Bench

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def test_a_file_comes_back_as_it_is(bench: "Bench") -> None:
    for content in (
        "one\ntwo\nthree\n",
        "no newline at the end",
        "\ufeffbom\r\ncrlf\r\n",
        "\n",
        "sep\u2028 \x0c \r end",
    ):
        (bench.cwd / "a.txt").write_bytes(content.encode())
        assert bench.ok("read", path="a.txt") == content


def test_offset_and_limit_choose_lines_and_the_last_line_says_how_to_go_on(bench: "Bench") -> None:
    (bench.cwd / "a.txt").write_text("one\ntwo\nthree\n")
    assert bench.ok("read", path="a.txt", offset=2) == "two\nthree\n"
    assert bench.ok("read", path="a.txt", offset=3, limit=1) == "three\n"
    assert bench.ok("read", path="a.txt", offset=2, limit=1) == (
        "two\n\n[Lines 2-2 of a longer file. Continue with offset=3.]"
    )


def test_an_offset_past_the_end_is_told_how_many_lines_there_are(bench: "Bench") -> None:
    (bench.cwd / "two").write_text("one\ntwo\n")
    (bench.cwd / "one").write_text("one")
    (bench.cwd / "none").write_text("")
    assert bench.fails("read", path="two", offset=3) == "two has 2 lines; offset 3 is past its end."
    assert bench.fails("read", path="one", offset=2) == "one has 1 line; offset 2 is past its end."
    assert bench.fails("read", path="none", offset=9) == "none has 0 lines; offset 9 is past its end."


def test_an_empty_file_says_so(bench: "Bench") -> None:
    (bench.cwd / "none").write_text("")
    assert bench.ok("read", path="none") == "(empty file)"


def pages(path: Path, limit: int) -> str:
    """The whole file, by following the offsets that the tool itself gives."""
    context = ToolContext(path.parent, CancelToken(), print, Processes())
    whole = ""
    offset = 1
    while True:
        output = read.run({"path": path.name, "offset": offset, "limit": limit}, context)
        (part,) = output.content
        assert not isinstance(part, Image)
        if output.details is None:
            return whole + part.text
        page, _, note = part.text.rpartition("\n[")
        assert len(page.encode()) <= MAX_BYTES + 1
        assert f"offset={output.details['next_offset']}." in note
        assert output.details["next_offset"] > offset
        whole += page
        offset = output.details["next_offset"]


long_lines = st.builds(
    lambda char, times, end: char * times + end, st.sampled_from("aé😀"), st.integers(0, 12_000), st.just("\n")
)


@given(st.lists(long_lines, min_size=1, max_size=25), st.text("x"), st.integers(1, MAX_LINES))
def test_following_the_offsets_reaches_every_line(lines: list[str], last: str, limit: int) -> None:
    content = "".join(lines) + last
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.txt")
        path.write_text(content)
        assert pages(path, limit) == content


def test_lines_far_beyond_both_caps_are_reached(bench: "Bench") -> None:
    lines = [f"line {number} {'x' * 60}\n" for number in range(1, 20_001)]
    (bench.cwd / "a.txt").write_text("".join(lines))
    assert bench.ok("read", path="a.txt", offset=19_999) == "".join(lines[-2:])
    assert bench.ok("read", path="a.txt", offset=10_000, limit=3).startswith("".join(lines[9_999:10_002]))
    assert pages(bench.cwd / "a.txt", 5000) == "".join(lines)


def test_a_line_too_long_to_show_is_begun_and_the_rest_is_within_reach(bench: "Bench") -> None:
    long = "é" * 60_000
    (bench.cwd / "a b.txt").write_text(f"first\n{long}\nlast\n")
    assert bench.ok("read", path="a b.txt").endswith("Continue with offset=2.]")

    shown, _, note = bench.ok("read", path="a b.txt", offset=2).rpartition("\n\n[")
    assert long.startswith(shown)
    assert len(shown.encode()) == MAX_BYTES
    assert "offset=3" in note
    command = note.partition("use bash: ")[2].partition(". For")[0]
    rest = bench.ok("bash", command=command)
    assert long[len(shown) :][: MAX_BYTES // 2] in rest

    assert bench.ok("read", path="a b.txt", offset=3) == "last\n"


def test_bytes_that_are_not_utf8_are_replaced(bench: "Bench") -> None:
    (bench.cwd / "latin1.txt").write_bytes(b"gr\xfcn\n")
    assert bench.ok("read", path="latin1.txt") == "gr�n\n"


def test_many_bad_bytes_still_fit_under_the_cap(bench: "Bench") -> None:
    (bench.cwd / "bad").write_bytes((b"\xff" * 99 + b"\n") * 400)
    shown = bench.ok("read", path="bad").rpartition("\n[")[0]
    assert MAX_BYTES - 300 < len(shown.encode()) <= MAX_BYTES


@pytest.mark.parametrize(
    ("head", "mime_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0 and so on", "image/jpeg"),
        (b"GIF89a and so on", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
def test_an_image_is_known_by_its_first_bytes(bench: "Bench", head: bytes, mime_type: str) -> None:
    (bench.cwd / "picture.txt").write_bytes(head * 100)
    output = bench.call("read", path="picture.txt")
    image = output.content[1]
    assert isinstance(image, Image)
    assert image.mime_type == mime_type
    assert b64decode(image.data) == head * 100


def test_an_image_too_large_to_send_is_refused(bench: "Bench") -> None:
    with open(bench.cwd / "big.png", "wb") as file:
        file.write(PNG)
        file.truncate(5 * 1024 * 1024 + 1)
    assert "big.png is an image of 5242881 bytes; more than 5242880 cannot be sent" in bench.fails(
        "read", path="big.png"
    )


def test_binary_is_refused_politely(bench: "Bench") -> None:
    (bench.cwd / "a.out").write_bytes(b"\x7fELF\0\0")
    assert bench.fails("read", path="a.out") == (
        "a.out looks binary (6 bytes); look at it with bash (file, xxd, strings)."
    )


def test_what_is_not_a_readable_file_is_refused_with_a_sentence(bench: "Bench") -> None:
    os.mkfifo(bench.cwd / "fifo")
    (bench.cwd / "loop").symlink_to("loop")
    (bench.cwd / "file").write_text("x")
    assert bench.fails("read", path="gone.txt") == "gone.txt does not exist."
    assert bench.fails("read", path=".") == ". is a directory; list it with bash (ls)."
    assert "not a regular file" in bench.fails("read", path="fifo")
    assert "not a regular file" in bench.fails("read", path="/dev/zero")
    assert "loop of symbolic links" in bench.fails("read", path="loop")
    assert "not a directory" in bench.fails("read", path="file/x")
    assert bench.fails("read", path="~nobody-of-that-name/x") == "~nobody-of-that-name/x does not exist."


def test_a_writer_waiting_at_a_pipe_is_left_waiting(bench: "Bench") -> None:
    fifo = bench.cwd / "fifo"
    os.mkfifo(fifo)
    received: list[bytes] = []
    writer = threading.Thread(target=lambda: fifo.write_bytes(b"for somebody else"))
    writer.start()
    bench.fails("read", path="fifo")
    received.append(fifo.read_bytes())
    writer.join()
    assert received == [b"for somebody else"]


def test_a_file_without_permission_is_refused_with_a_sentence(bench: "Bench") -> None:
    (bench.cwd / "secret").write_text("x")
    (bench.cwd / "secret").chmod(0)
    user = os.geteuid()
    if user == 0:  # Root may read everything, so be somebody else for a moment.
        os.seteuid(65534)
    try:
        assert bench.fails("read", path="secret") == "secret: permission denied."
    finally:
        os.seteuid(user)


def test_files_that_have_no_size_can_be_read(bench: "Bench") -> None:
    assert "Name:" in bench.ok("read", path="/proc/self/status")


def test_a_huge_file_is_not_loaded(bench: "Bench") -> None:
    import tracemalloc

    with open(bench.cwd / "huge", "wb") as file:
        file.write(b"first" * 5000 + b"\n")
        file.seek(200_000_000)
        file.write(b"\nlast\n")
    tracemalloc.start()
    try:
        assert bench.ok("read", path="huge", offset=3) == "last\n"
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


def test_an_abort_stops_a_long_search_for_a_line(bench: "Bench") -> None:
    (bench.cwd / "a.txt").write_text("x\n")
    cancel = CancelToken()
    cancel.set()
    with pytest.raises(Cancelled):
        read.run({"path": "a.txt"}, ToolContext(bench.cwd, cancel, print, bench.processes))
