"""How sessions of Claude Code show themselves: hooks, status files, transcripts."""
