"""A job for CI: reviews what changed since a commit, prints what it found, and fails if that is serious.

python ci_review.py [BASE]       Offline on a script of its own; LINNET_PROVIDER=anthropic (say) asks a real model.

Exit code 0: nothing serious. 1: something serious. 2: the review itself failed; the reason is on stderr.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from msgspec import Struct

from linnet import LinnetError, Result, Runtime

PROVIDER = os.environ.get("LINNET_PROVIDER")
FOUND = {
    "findings": [{"file": "app.py", "line": 1, "severity": "serious", "what": "divides by zero for an empty list"}]
}
LOOK = [{"text": "I will look."}, {"call": "ls", "args": {}}]
SCRIPT = {"turns": [LOOK, [{"text": json.dumps(FOUND)}]]}
ASK = """Review this change. Read the files around it where that helps; do not change anything. Report only what is \
wrong, with the file and the line it is in after the change. Serious is what breaks, leaks or loses something.

{diff}"""


class Finding(Struct):
    file: str
    line: int
    severity: Literal["serious", "minor"]
    what: str


class Review(Struct):
    findings: list[Finding]


def review(diff: str) -> Result[Review]:
    with TemporaryDirectory() as folder:
        script = Path(folder, "script.json")
        script.write_text(json.dumps(SCRIPT))
        # A reviewer reads: it gets no tool to write with, nor a shell. The steps are limited, so that the bill is, too.
        own = None if PROVIDER else script
        with Runtime(provider=PROVIDER, script=own, tools=["read", "grep", "find", "ls"], max_steps=30) as runtime:
            return runtime.run(ASK.format(diff=diff), output=Review)


def main() -> int:
    base = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    diff = subprocess.run(["git", "diff", base], check=True, capture_output=True, text=True).stdout
    if not diff:
        print(f"nothing has changed since {base}")
        return 0
    result = review(diff)
    if result.code:
        print(f"ci_review.py: {result.error or result.code}", file=sys.stderr)
        return 2
    for finding in result.value.findings:  # The answer was checked: this is a list of Finding.
        print(f"{finding.file}:{finding.line}: {finding.severity}: {finding.what}")
    cost = "?" if result.cost is None else f"{result.cost:.4f}"  # Not every price is known.
    print(f"{len(result.value.findings)} findings, {result.steps} steps, ${cost}")
    return 1 if any(finding.severity == "serious" for finding in result.value.findings) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (LinnetError, subprocess.CalledProcessError) as error:
        print(f"ci_review.py: {error}", file=sys.stderr)
        sys.exit(2)
