"""S_ctrl: state estimators, voters of redundant sensors, and checks of measurements."""
