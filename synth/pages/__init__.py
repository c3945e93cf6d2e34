"""The server's own pages for people: chat, and the check of the streams. Views translate; services write."""
