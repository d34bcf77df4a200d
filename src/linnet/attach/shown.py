"""What `linnet attach` shows to people: its help, and the agents of a server."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HELP = """\
linnet attach: an agent of a server's as stdin and stdout; the server is `linnet serve`

  linnet attach [flags] [AGENT]            attach to an agent; without AGENT to the only one, or list them
  linnet attach [flags] --open -- ARGS…    open one, as `linnet ARGS…` would: -- rpc --model NAME, or -- --mode rpc

Lines of a protocol pass both ways, as on the pipe of `linnet rpc`. At the end of stdin it goes on until the server ends
the connection.

Flags
  --socket PATH     the server's socket (default: LINNET_SOCKET, else $XDG_RUNTIME_DIR/linnet/serve.sock, else
                    serve.sock in LINNET_HOME)
  --dialect NAME    the protocol that is spoken: zot, pi, pi-1, … (default: the agent's)
  --from N          begin after the event with this number; 0 is everything (default: only what comes)
  --watch           ask and change nothing
  --cursor          have events carry their number, as `seq`
  --open            open an agent in this folder; the variables with keys go along. It is closed when stdin has ended
                    and its work is done
  --keep            do not close it
  --program NAME    open it as linnet-pi or linnet-zot would (default: linnet)
  -h, --help        show this
"""


def table(agents: "list[dict[str, Any]]") -> str:
    """Return lines that say which agents there are, and how to attach to one."""
    if not agents:
        return "linnet: the server has no agent; open one with `linnet attach --open -- rpc`\n"
    rows = [["AGENT", "STATE", "MODEL", "NAME", "FOLDER"]]
    rows += [[_cell(agent.get(name)) for name in ("id", "state", "model", "name", "cwd")] for agent in agents]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(["linnet: say which agent: linnet attach AGENT", *lines, ""])


def _cell(value: object) -> str:
    return " ".join(str(value).split()) if value else "-"
