/* What PX4 says over its simulator link, in pieces of any size, until the answer is there: `ib_turn` of ib_px4.c.
 *
 * It takes the same frames as a single look at the whole stream, and the last answer is what it keeps. */
#define ASKED_US 8000
#define ROOM 8192 /* as RECEIVED of autopilots/px4/messages.py */

static const uint8_t *said, *end_of_said;
static uint32_t draw;
static int64_t handed;

static int64_t some(int fd, void *to, uint64_t room, int flags)
{
    (void)fd, (void)flags;
    if (said == end_of_said) return -1;
    draw = draw * 1664525u + 1013904223u;
    uint64_t count = (uint64_t)(end_of_said - said), piece = draw >> 24 < 128 ? count : 1 + (draw >> 8) % 97;
    if (count > piece) count = piece;
    if (count > room) count = room;
    memcpy(to, said, count);
    said += count, handed += (int64_t)count;
    return (int64_t)count;
}

static int64_t sent(int fd, const void *from, uint64_t count, int flags) { return (void)fd, (void)from, (void)flags, (int64_t)count; }
static int nothing_more(struct ib_poll *ask, uint64_t count, int ms) { return (void)ask, (void)count, (void)ms, 0; }
static int stands(int which, struct ib_time *to) { return (void)which, to->s = 5, to->ns = 0, 0; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t *buffer, *tap;
    if (!buffer) buffer = malloc(ROOM), tap = malloc(256);
    ib_wire wire = {sent, some, nothing_more, stands, KNOWN_IDS, KNOWN_EXTRAS, KNOWN, buffer, ROOM};
    wire.last = -1, wire.tap = tap, wire.tap_size = 256;
    said = data, end_of_said = data + size, handed = 0;
    draw = (uint32_t)size * 2654435761u;
    const uint8_t frames[3] = {1, 2, 3};
    const int64_t result = ib_turn(&wire, 3, frames, 3, ASKED_US, 0.0);
    MUST(result == ANSWERED || result == TIME_OVER);
    MUST(result == ANSWERED || said == end_of_said);
    MUST((result == ANSWERED) == (wire.answers > 0 && wire.answer_us >= ASKED_US));
    MUST(wire.kept >= 0 && wire.kept < 280 && wire.tapped <= 256);
    int64_t frames_seen = 0, answers = 0, at = 0, tally[2] = {0, 0};
    uint8_t last[HIL_ACTUATOR_CONTROLS_SIZE] = {0};
    for (;;) { /* one look at what was handed over */
        int32_t row[5];
        int64_t used = 0;
        const int64_t one = ib_scan(data + at, handed - at, KNOWN_IDS, KNOWN_EXTRAS, KNOWN, row, 1, tally, &used);
        if (one) {
            frames_seen++;
            if (row[2] == HIL_ACTUATOR_CONTROLS) {
                answers++;
                memset(last, 0, sizeof last);
                memcpy(last, data + at + row[0], (size_t)(row[1] < HIL_ACTUATOR_CONTROLS_SIZE ? row[1] : HIL_ACTUATOR_CONTROLS_SIZE));
            }
        }
        at += used;
        if (!one) break;
    }
    MUST(wire.received == frames_seen && wire.answers == answers && wire.tally[0] == tally[0] && wire.tally[1] == tally[1]);
    if (answers) {
        MUST(!memcmp(&wire.answer_us, last, 8) && !memcmp(&wire.flags, last + 8, 8) && wire.mode == last[80]);
        static double inputs[16];
        const ib_outputs out = {.inputs = inputs, .count = 16, .idle = 0.05, .governed = 1, .drive = 1, .brake = 2,
                                .ahead = wire.controls + 3, .full = 4.0, .gain = 2.0, .drive_most = 3.0, .brake_most = 5.0,
                                .channel = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                .row = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, .rotor = {1, 1, 1, 1}};
        ib_place(&out, wire.controls, wire.mode & 128, 1.0);
        for (int i = 0; i < 16; i++) MUST(i == 1 || i == 2 || (inputs[i] >= -1.0 && inputs[i] <= 1.0));
    }
    return 0;
}
