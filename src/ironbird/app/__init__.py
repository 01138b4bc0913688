"""The live rig: vehicles flown, watched, broken and tuned from a page in the browser, or from a program."""
