"""Day before month, 24 hours, and the zone, so that nobody has to guess it."""

DATETIME_FORMAT = "j M Y, H:i e"
SHORT_DATETIME_FORMAT = "j M Y, H:i e"
DATE_FORMAT = "j M Y"
