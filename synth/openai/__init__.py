"""The door for clients of the OpenAI chat API: their requests read, our turns told in their words. Pure."""
