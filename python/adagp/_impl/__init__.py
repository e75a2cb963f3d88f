"""What the modules of adagp are made of. Nothing here is for users: names and places may change."""
