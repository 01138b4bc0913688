"""The live rig: fly, watch, fault and tune vehicles from a page in the browser, or from a program."""
