"""What `make demo-local` runs: a real model without a key, in a real `linnet --mode rpc`, driven by linnet's client.

Nothing leaves the machine. The model has 135 million parameters: what it says is often wrong, and that is shown, too.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from linnet.client import PiClient, pi
from linnet.errors import ClientError

NOTES = "The linnet is a small finch.\n"
ROLE = "You work in a folder, with the tools you are given. Answer briefly."
PATIENCE = 300  # Seconds for one prompt; a machine with nothing else to do takes ten.


def heading(text: str) -> None:
    print(f"\n── {text}\n")


def show(agent: PiClient, message: str) -> bool:
    """Ask, and print what comes as it comes. Return whether the model called `read` with the right file."""
    print(f"  you     {message}")
    asked, pieces, right = perf_counter(), 0, False
    for event in agent.prompt(message):
        match event:
            case pi.MessageUpdate(pi.TextDelta(text)):
                if not pieces:
                    print("  model   ", end="")
                pieces += 1
                print(text.replace("\n", "\n          "), end="", flush=True)
            case pi.MessageEnd(message=said) if said.role == "assistant":
                print("\n" if pieces else "", end="")
                pieces = 0
                for call in said.tool_calls:
                    right = right or (call.name, call.arguments.get("path")) == ("read", "notes.txt")
                    print(f"  call    {call.name} {call.arguments}")
            case pi.MessageEnd(message=said) if said.role == "toolResult":
                print(f"  result  {said.text.strip()[:90]}")
    print(f"          (after {perf_counter() - asked:.1f} s)\n")
    return right


def abort(agent: PiClient) -> None:
    """Ask for something long, and abort it in the middle."""
    message = "Tell me a very long story about a bird."
    print(f"  you     {message}")
    run = agent.prompt(message)
    pieces, aborted = 0, 0.0
    for event in run:
        if isinstance(event, pi.MessageUpdate):
            pieces += 1
            if pieces == 10:
                aborted = perf_counter()
                agent.abort()
    took = perf_counter() - aborted
    print(f"          aborted after {pieces} pieces; the run was over {took * 1000:.0f} ms later\n")


def main() -> int:
    with TemporaryDirectory(prefix="linnet-demo-") as folder:
        (Path(folder) / "notes.txt").write_text(NOTES)
        arguments = ["--no-session", "--system-prompt", ROLE]  # linnet's own words would be a lot for it to read.
        with PiClient(provider="local", args=arguments, cwd=folder, timeout=PATIENCE) as agent:
            model = agent.get_state().model
            print(f"  {model.name if model else 'a model'}: in this agent's own process, without a key and offline.")

            heading("It answers. The first answer takes longest: the model is loaded, and reads what it is told to be.")
            show(agent, "Name three colours.")

            heading("It calls a tool. A grammar lets it write nothing but text, or a call that fits the tool's schema.")
            right = show(agent, "Read the file notes.txt")

            heading("It is stopped in the middle of a sentence.")
            abort(agent)

            heading("It does not think. Do not believe what it says:")
            show(agent, "How many files are in this folder?")

    heading("What this shows")
    print(
        "  The process, the protocol, streaming, tools and aborts are the same as with any model. What a model of\n"
        "  135 million parameters cannot do is the work: it confuses files, invents contents and answers, and cannot\n"
        "  write a program. The grammar makes its calls well-formed, not sensible. For work, name a larger GGUF file\n"
        "  with --model, or use a provider with a key."
    )
    if not right:
        print("\n  This time it did not even read the file it was asked to.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ClientError as error:
        print(f"demo: {error}", file=sys.stderr)
        sys.exit(1)
