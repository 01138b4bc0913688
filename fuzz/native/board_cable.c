/* A flight controller on a cable that says anything in any pieces, while the host orders messages: `ib_exchange`.
 *
 * What the board said reaches the host byte for byte as long as the ring has room; controls are those of the last frame.
 * Rings and rooms are small, so that short inputs fill them. */
#define ROOM 1024
#define CAME 131072

int64_t scan_frames(const uint8_t *, int64_t, const uint32_t *, const uint8_t *, int64_t, int32_t *, int64_t, int64_t *, int64_t *);
int64_t seal_frames(const uint8_t *, int64_t, uint8_t *, uint8_t *, int, int);
void place_controls(const double *, int64_t, double);
const uint32_t *known_ids(void);
const uint8_t *known_extras(void);
int64_t known_count(void);

static input said;
static uint64_t gone, given;

static int64_t takes(void *cable, uint8_t *to, int64_t room, int64_t wall_ns)
{
    (void)cable, (void)wall_ns;
    int64_t count = (int64_t)number_of(&said, 2) & 1023, there = left(&said);
    if (count > there) count = there;
    if (count > room) count = room;
    memcpy(to, said.at, (size_t)count);
    said.at += count, gone += (uint64_t)count;
    return count;
}

static int64_t gives(void *cable, const uint8_t *from, int64_t count)
{
    (void)cable, (void)from;
    const int64_t fits = count * (given & 3) / 3;
    given = given * 6364136223846793005u + 1442695040888963407u;
    given ^= given >> 33;
    return fits;
}

static int64_t stages(void *sensors, uint64_t now_us, uint8_t *to)
{
    (void)sensors;
    memset(to, 0, 8 + 65);
    to[0] = 107, to[4] = 65, to[5] = 108; /* HIL_SENSOR */
    memcpy(to + 8, &now_us, 8);
    return 8 + 65;
}
static void places(const void *outputs, const double *controls, int64_t armed, double since_s)
{
    (void)outputs;
    place_controls(controls, armed, since_s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t *memory[8];
    static const int64_t sizes[8] = {ROOM, 2 * ROOM, 8 * ROOM, CAME, 1024, 512, 4 * ROOM, 1024};
    if (!memory[0])
        for (int i = 0; i < 8; i++) memory[i] = malloc((size_t)sizes[i]);
    ib_board board = {.take = takes, .give = gives, .stage_sensors = stages, .seal = seal_frames, .scan = scan_frames, .place = places,
                      .stage = memory[0], .frames = memory[1], .rest = memory[2], .came = memory[3], .room = ROOM, .came_room = CAME,
                      .ids = known_ids(), .extras = known_extras(), .known = known_count(), .system = 1, .component = 1,
                      .said = {memory[4], sizes[4]}, .ordered = {memory[5], sizes[5]}, .ground = {memory[6], sizes[6]},
                      .gave = {memory[7], sizes[7]}, .watched = 1, .tick_s = 1e-3};
    said = (input){data, data + size};
    gone = 0, given = size;
    uint64_t heard = 0;
    for (int64_t tick = 0; left(&said) > 0 && tick < 200; tick++) {
        const uint8_t what = byte_of(&said);
        if (what & 1) ib_sample(&board, tick);
        if (what & 2) {
            uint8_t order[8 + 255] = {0, 0, 0, 0, byte_of(&said), 50};
            order[4] = order[4] ? order[4] : 1;
            ib_ring_put(&board.ordered, order, 8 + order[4]);
        }
        if (what & 4) ib_ring_put(&board.ground, said.at, left(&said) < 300 ? left(&said) : 300);
        MUST(ib_exchange(&board, tick, 1000000 * tick) == 0);
        MUST(board.kept >= 0 && board.kept < 280 && board.waiting >= 0 && board.waiting <= 8 * ROOM);
        if (what & 8) {
            ib_heard record;
            static uint8_t copy[CAME];
            while (ib_ring_heard(&board.said, &record, copy, CAME) == 1) heard += (uint64_t)record.length;
            while (ib_ring_heard(&board.gave, &record, copy, CAME) == 1) continue;
        }
    }
    ib_heard record;
    static uint8_t copy[CAME];
    while (ib_ring_heard(&board.said, &record, copy, CAME) == 1) heard += (uint64_t)record.length;
    MUST(heard + (uint64_t)board.said.overflowed == gone);
    return 0;
}
