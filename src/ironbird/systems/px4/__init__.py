"""PX4: its simulator link, airframes, battery and process."""
