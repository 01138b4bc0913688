"""One flight, whoever flies it: order, preparation, executors, twins and witnesses, judge, result."""
