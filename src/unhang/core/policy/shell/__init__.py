"""Shell lines, taken apart."""
