"""Parts that watch a run and may end it."""
