#!/bin/sh
# Flies a suite of Ironbird against the autopilot that this job built.
#
#   AUTOPILOT_BUILD   command that builds it in the present folder: make px4_sitl_default
#   IRONBIRD_PX4, IRONBIRD_ARDUPILOT   where the program then is: build/px4_sitl_default
#   SUITE             case or suite file, or a built-in suite
#   RESULTS           folder for results: report, junit.xml, logs (out)
#   WORKERS           flights at the same time (2)
set -eu
: "${AUTOPILOT_BUILD:?the command that builds the autopilot}" "${SUITE:?a case or suite file}"
RESULTS="${RESULTS:-out}"

sh -c "$AUTOPILOT_BUILD"
ironbird case check "$SUITE"
mkdir -p "$RESULTS"
# IRONBIRD_CACHE may be kept between jobs: the compiled vehicle. The exit code is 1 if a flight is not as its case expects
exec ironbird campaign run "$SUITE" --name pull-request --workers "${WORKERS:-2}" --strict \
    --store "sqlite:///$RESULTS/campaigns.sqlite" --out "$RESULTS/report"
