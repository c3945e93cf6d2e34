"""Calls to hosts elsewhere: names looked up once, connections only to what was looked up, one deadline."""
