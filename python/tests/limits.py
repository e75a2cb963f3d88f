"""For tests that wait."""

# Seconds before something that hangs is an error: of many times what a slow and busy machine takes.
PATIENCE = 3600
