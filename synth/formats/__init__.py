"""How the admin site writes instants: always with their zone."""
