"""The only code that changes the core's rows, one module a noun."""
