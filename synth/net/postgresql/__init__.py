"""Django's PostgreSQL engine, with connections that outlive their use for a moment (`base`, `kept`)."""
