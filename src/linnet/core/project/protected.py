"""What in a working folder makes other programs run code, or tells an agent what to do. Pure.

In a sandbox these are read-only, and what of them appears while the agent runs is not loaded by it.
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
