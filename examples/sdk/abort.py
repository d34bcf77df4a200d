"""A time limit: another thread aborts the run while this one iterates over its events.

python abort.py [SECONDS]        Offline on a script of its own; LINNET_PROVIDER=anthropic (say) asks a real model.
"""

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer

from linnet import Config, Runtime, frames

PROVIDER = os.environ.get("LINNET_PROVIDER")
COUNT = "for i in $(seq 1000); do echo $i; sleep 0.1; done"
SCRIPT = {"turns": [[{"text": "I will count."}, {"call": "bash", "args": {"command": COUNT}}]]}


def main() -> int:
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    stopped = False
    with TemporaryDirectory() as folder:
        script = Path(folder, "script.json")
        script.write_text(json.dumps(SCRIPT))
        model = Config(provider=PROVIDER, cwd=folder) if PROVIDER else Config(script=str(script), cwd=folder)
        with Runtime(model) as runtime:
            events = runtime.prompt("Count to a thousand with a shell loop that sleeps in between.")
            timer = Timer(limit, runtime.abort)  # Safe from any thread. The shell and all it started are killed.
            timer.start()
            for event in events:  # The events go on to the end, so a run that was aborted is complete, too.
                match event:
                    case frames.TextDelta(text):
                        print(text, end="", flush=True)
                    case frames.ToolCall(name=name):
                        print(f"\n→ {name}")
                    case frames.ToolProgress(text=text):
                        print(text, end="", flush=True)
                    case frames.ToolResult(content=[frames.TextBlock(text), *_]):
                        print(f"✗ {text.splitlines()[-1]}")
                    case frames.TurnEnd(stop):
                        stopped = stop == "aborted"
                    case _:
                        pass
            timer.cancel()  # In case the run was faster.
            print(f"{'aborted' if stopped else 'done'}; {runtime.state().message_count} messages are kept")
    return 0 if stopped else 1


if __name__ == "__main__":
    sys.exit(main())
