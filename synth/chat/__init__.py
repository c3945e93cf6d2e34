"""The pure parts of a chat turn: what a model is shown of a dialogue, and what it asks for in return."""
