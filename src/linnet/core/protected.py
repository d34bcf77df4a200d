"""Names in a working folder that other programs obey: what is written there runs later, outside of the sandbox."""

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
