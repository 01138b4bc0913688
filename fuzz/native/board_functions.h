/* What a board on a cable is handed: functions of ib_mavlink.c and ib_px4.c, whose texts stand before this one. */
int64_t scan_frames(const uint8_t *data, int64_t count, const uint32_t *ids, const uint8_t *extras, int64_t known, int32_t *found,
                    int64_t most, int64_t *tally, int64_t *used)
{
    return ib_scan(data, count, ids, extras, known, found, most, tally, used);
}

int64_t seal_frames(const uint8_t *stage, int64_t count, uint8_t *out, uint8_t *sequence, int system, int component)
{
    return ib_seal(stage, count, out, sequence, system, component);
}

void place_controls(const double *controls, int64_t armed, double since_s)
{
    static double inputs[MOST_OUTPUTS];
    static const ib_outputs out = {.inputs = inputs, .count = MOST_OUTPUTS, .idle = 0.05, .release_s = 1.0, .released = 1,
                                   .channel = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                   .row = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
    ib_place(&out, controls, armed, since_s);
    for (int i = 0; i < MOST_OUTPUTS; i++)
        if (!(inputs[i] >= -1.0 && inputs[i] <= 1.0)) __builtin_trap();
}

const uint32_t *known_ids(void) { return KNOWN_IDS; }
const uint8_t *known_extras(void) { return KNOWN_EXTRAS; }
int64_t known_count(void) { return KNOWN; }
