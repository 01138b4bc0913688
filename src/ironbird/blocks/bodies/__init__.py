"""S_body: rigid bodies with their equations of motion."""
