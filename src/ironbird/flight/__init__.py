"""One flight with any control system: order, preparation, executors, twins and witnesses, judge, result."""
