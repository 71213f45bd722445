"""Text to tokens and sentences: rules, and what is known about English."""
