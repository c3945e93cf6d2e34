"""Character cards: V1, V2, V3 as JSON, in a PNG, or as CHARX; read, and written back without loss. Pure."""
