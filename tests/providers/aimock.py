"""An emulator of vendors' APIs that nobody here wrote, with our cases in `npm/fixtures.json`.

Where it is known to be wrong, and what a vendor does instead, is said in `DEFECTS`.
"""

import os
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

PROGRAM = Path(sys.prefix) / "aimock" / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
CASES = Path(__file__).parent / "npm" / "fixtures.json"

EMULATED = (
    "anthropic-messages",
    "openai-completions",
    "openai-responses",
    "google-generative-ai",
    "bedrock-converse-stream",
)

# It fails over a mark for the cache among the tools, of which Bedrock's types have one.
UNCACHED = ("bedrock-converse-stream",)

# API and case. It ends such a reply of the Responses API with `response.completed`, without `incomplete_details`, and
# has a reason to stop that Bedrock does not know.
DEFECTS = {("openai-responses", "length"), ("openai-responses", "filter"), ("bedrock-converse-stream", "filter")}


@contextmanager
def running() -> Iterator[str]:
    """Run the emulator on a port that the system chooses, and yield its URL."""
    node = shutil.which("node")
    if node is None or not PROGRAM.exists():
        reason = "the emulator of vendors' APIs is not installed: `make .venv/.node` does it, where there is npm"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    command = [node, str(PROGRAM), "--port", "0", "--fixtures", str(CASES), "--strict", "--validate-on-load"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as emulator:
        assert emulator.stdout is not None
        said = deque[str](maxlen=20)
        try:
            for line in emulator.stdout:
                said.append(line)
                if "listening on" in line:
                    break
            else:
                pytest.fail(f"the emulator has ended: {''.join(said)}")
            Thread(target=said.extend, args=(emulator.stdout,)).start()  # A pipe that is full would stop it.
            yield line.split()[-1]
        finally:
            emulator.kill()
            emulator.wait()
