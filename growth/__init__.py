"""Weekly reflection: an agent rereads its diary and rewrites, in its own voice, who it is becoming."""
