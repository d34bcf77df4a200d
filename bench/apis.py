"""What a delta costs on every API, from the socket to the draft of a reply, beside Anthropic's.

python bench/apis.py
"""

import subprocess
import sys
import time
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
ROUNDS = 7
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
    costs = {api: cost(api, provider, url) for api, provider in APIS.items()}
    first = next(iter(costs.values()))
    return [(api, f"{took * 1e6:.2f} µs, {took / first:.2f} ×") for api, took in costs.items()]


def cost(api: str, provider: str, url: str) -> float:
    info = catalog.PROVIDERS[provider]
    found = catalog.find(provider, info.default_model)
    assert found is not None
    model = catalog.completed(found, info, url, api)
    asked = Request(model, "", [UserMessage((Text(f"!text {DELTAS}"),), 0)])
    opened = build(provider, "" if provider == "bedrock" else "k", url, api=api, environ=KEYS, attempts=1)
    try:
        return median(spent(opened, asked) for _ in range(ROUNDS)) / DELTAS
    finally:
        opened.close()


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
