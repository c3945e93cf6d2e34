"""Text rules that need no database: words, scripts, stop words."""
