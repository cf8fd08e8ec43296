"""Files of hosts, each with one fault."""

from typing import Final

CONFIGURATIONS: Final = {
    "trailing-comma": (
        "claude_desktop_config.json",
        '{"mcpServers": {"zoo": {"command": "zoo", "disabled": true},}}',
    ),
    "missing-comma": ("mcp.json", '{"mcpServers": {"zoo": {"command": "zoo" "args": []}}}'),
    "backslashes": ("mcp.json", r'{"mcpServers": {"zoo": {"command": "C:\zoo\server.exe"}}}'),
    "other-section": (".vscode/mcp.json", '{"mcpServers": {"zoo": {"command": "zoo"}}}'),
    "arguments-in-command": ("mcp.json", '{"mcpServers": {"zoo": {"command": "npx -y zoo"}}}'),
    "args-as-text": ("mcp.json", '{"mcpServers": {"zoo": {"command": "npx", "args": "-y zoo"}}}'),
    "number-in-env": (
        "claude_desktop_config.json",
        '{"mcpServers": {"zoo": {"command": "zoo", "env": {"PORT": 80}}}}',
    ),
    "url-in-claude-desktop": (
        "claude_desktop_config.json",
        '{"mcpServers": {"zoo": {"url": "https://example.com/mcp"}}}',
    ),
    "url-without-type": (".mcp.json", '{"mcpServers": {"zoo": {"url": "https://example.com/"}}}'),
    "variable-in-claude-desktop": (
        "claude_desktop_config.json",
        '{"mcpServers": {"zoo": {"command": "zoo", "env": {"ZOO_TOKEN": "${ZOO_TOKEN}"}}}}',
    ),
}
"""Under their names: the name of the file, and what is in it."""
