"""The process that outlives a killed agent just long enough to end what the agent had started.

It is a shell, not Python: it exists for as long as the agent does, so its size counts.
"""

import os
import subprocess
from contextlib import suppress
from threading import Lock

# The mark comes in as a line, never as an argument or a variable: the search must not find the searcher. It ignores
# polite signals because whoever sends them to everybody ends the agent too, and then the pipe's end is its cue. It
# looks once more after it found nobody, since a process that is just starting a program has no environment to show.
SCRIPT = """: linnet-watchdog
trap '' HUP INT TERM
read -r mark || exit
groups=' '
while read -r verb group; do
  case $verb in
    watch) groups="$groups$group " ;;
    forget)
      case $groups in
        *" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;;
      esac ;;
    stop) exit ;;
  esac
done
for group in $groups; do kill -9 "-$group"; done
round=0
quiet=0
while [ "$quiet" -lt 2 ] && [ "$round" -lt 50 ]; do
  quiet=$((quiet + 1))
  for file in $(grep -lsF -e "$mark" /proc/[0-9]*/environ); do
    quiet=0
    pid=${file#/proc/}
    kill -9 "${pid%/environ}"
  done
  round=$((round + 1))
done
"""


class Watchdog:
    """Once `start` returns, the end of this process, however it comes, ends every watched group and every process
    whose environment holds `mark`."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._lock = Lock()
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        with self._lock:
            if self._process is None and not self._closed:
                self._launch()

    def watch(self, group: int) -> None:
        with self._lock:
            if group not in self._groups:
                self._groups.add(group)
                self._tell(f"watch {group}\n")

    def forget(self, group: int) -> None:
        with self._lock:
            if group in self._groups:
                self._groups.remove(group)
                self._tell(f"forget {group}\n")

    def close(self) -> None:
        """Send it away: whoever calls this has seen to it that nothing is left."""
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        with suppress(BrokenPipeError):
            process.stdin.write(b"stop\n")
        process.stdin.close()
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _tell(self, line: str) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            self._process.stdin.write(line.encode())
        except BrokenPipeError:  # Somebody killed it.
            self._process.stdin.close()
            self._process.wait()
            self._launch()

    def _launch(self) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", SCRIPT],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            start_new_session=True,
        )
        assert self._process.stdin is not None
        lines = [self._mark, *(f"watch {group}" for group in self._groups)]
        self._process.stdin.write("".join(f"{line}\n" for line in lines).encode())
