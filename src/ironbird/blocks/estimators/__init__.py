"""S_ctrl: state estimators."""
