"""Growth over REST: settings, states, runs."""
