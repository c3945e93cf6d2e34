"""One file that holds a whole install: consistent rows, their checksums, the keys; and the way back."""
