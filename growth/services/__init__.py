"""The only code that writes growth rows."""
