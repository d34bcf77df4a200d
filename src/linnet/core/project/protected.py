"""The names of files in a working folder that make other programs run code, or tell an agent what to do.

In a sandbox these files are read-only, and the agent does not load those that appear while it runs.
"""

PROTECTED_NAMES = (
    ".git/hooks",
    ".git/config",
    ".linnet",
    ".pi",
    ".zot",
    ".agents",
    ".claude",
    ".mcp.json",
    ".gitmodules",
    ".envrc",
    ".vscode",
    ".idea",
    ".bashrc",
    ".profile",
    ".zshrc",
)
