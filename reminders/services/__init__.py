"""The only code that writes deliveries."""
