"""The MCP server: templates in, verdicts out; what judges them is fixed when it starts."""
