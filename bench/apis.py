"""What a delta costs on every API, from the socket to the draft of a reply, beside Anthropic's.

python bench/apis.py
"""

import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from linnet.concurrency.cancel import CancelToken
from linnet.core.loop.draft import Draft
from linnet.core.messages import Text, UserMessage
from linnet.providers import catalog
from linnet.providers.base import Provider, Request
from linnet.providers.factory import build
from linnet.testing.bedrock.rules import ACCESS_KEY, SECRET_KEY

Row = tuple[str, str]
DELTAS = 20_000
ROUNDS = 15
APIS = {
    "anthropic-messages": "anthropic",
    "openai-completions": "deepseek",
    "openai-responses": "azure-openai",
    "google-generative-ai": "google",
    "bedrock-converse-stream": "bedrock",
}
"""Each API, and a provider whose default model is asked through it."""
KEYS = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "AWS_REGION": "us-east-1"}


def rows(url: str) -> list[Row]:
    """Microseconds of CPU for a delta, and the multiple of the first API's."""
    costs = measured(url)
    first = next(iter(costs.values()))
    return [(api, f"{took * 1e6:.2f} µs, {took / first:.2f} ×") for api, took in costs.items()]


def measured(url: str) -> dict[str, float]:
    """Seconds of CPU for a delta on each API. They take turns: the machine's speed varies from second to second."""
    with ExitStack() as stack:
        asked = {api: opened(api, provider, url, stack) for api, provider in APIS.items()}
        taken: dict[str, list[float]] = {api: [] for api in APIS}
        for _ in range(ROUNDS):
            for api, (provider, request) in asked.items():
                taken[api].append(spent(provider, request))
    return {api: median(each) / DELTAS for api, each in taken.items()}


def opened(api: str, name: str, url: str, stack: ExitStack) -> tuple[Provider, Request]:
    info = catalog.PROVIDERS[name]
    found = catalog.find(name, info.default_model)
    assert found is not None
    model = catalog.completed(found, info, url, api)
    provider = build(name, "" if name == "bedrock" else "k", url, api=api, environ=KEYS, attempts=1)
    stack.callback(provider.close)
    return provider, Request(model, "", [UserMessage((Text(f"!text {DELTAS}"),), 0)])


def spent(provider: Provider, request: Request) -> float:
    draft, began = Draft(), time.thread_time()
    for batch in provider.stream(request, CancelToken()):
        draft.add(batch)
    return time.thread_time() - began


if __name__ == "__main__":
    command = [sys.executable, "-m", "linnet.testing.model_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            for name, figure in rows(f"http://127.0.0.1:{server.stdout.readline().split()[1]}"):
                print(f"{name:<26} {figure}")
        finally:
            server.kill()
