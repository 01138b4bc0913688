/* The exchange with a flight controller on a cable: sensors out, controls in, in native code from end to end.
 *
 * Messages are staged, framed and found, and controls handed to actuators, by functions of ib_mavlink.c and ib_px4.c,
 * which are handed in as those of the C library are. With the host it talks over three rings of bytes, each with one
 * writer and one reader, of which neither waits: what the board said (with the moment), messages of the host to be
 * sent, and frames of ground stations to be sent. A ring that is full loses what is new, and counts it.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define MOST_FOUND 64
#define MOST_PACKETS 256
#define MOST_BYTES 65536 /* of one packet */
#define CUT -1
#define AGAIN 11
#define REFUSED 111
#define INTERRUPTED 4
#define FIONREAD 0x541B

typedef struct {
    uint8_t *bytes;
    int64_t size;          /* a power of 2 */
    int64_t head, tail;    /* written and read so far */
    int64_t overflowed;    /* records or bytes that found no room */
} ib_ring;

typedef struct {
    int64_t tick, wall_ns, unsent, fixes, length; /* fixes: sent before this step */
} ib_heard;

typedef struct {
    int64_t (*read)(int, void *, uint64_t);
    int64_t (*write)(int, const void *, uint64_t);
    int (*ioctl)(int, uint64_t, void *);
    int64_t (*recvfrom)(int, void *, uint64_t, int, void *, uint32_t *);
    int64_t (*sendto)(int, const void *, uint64_t, int, const void *, uint32_t);
    int *(*error)(void);
    int64_t handle;
    uint8_t peer[16];     /* address of the board, if `known` */
    int64_t known, heard_ns, silent_ns, strangers;
} ib_cable;

typedef struct {
    int64_t (*take)(void *, uint8_t *, int64_t, int64_t); /* of a cable: what has come; negative: it is cut */
    int64_t (*give)(void *, const uint8_t *, int64_t);    /* how many bytes there was room for */
    void *cable;
    int64_t (*stage_sensors)(void *, uint64_t, uint8_t *);
    int64_t (*stage_fix)(const void *, uint64_t, int64_t, uint8_t *);
    int64_t (*seal)(const uint8_t *, int64_t, uint8_t *, uint8_t *, int, int);
    int64_t (*scan)(const uint8_t *, int64_t, const uint32_t *, const uint8_t *, int64_t, int32_t *, int64_t, int64_t *,
                    int64_t *);
    void (*place)(const void *, const double *, int64_t, double);
    void *sensors;
    const void *fix; /* null without a receiver */
    const void *outputs;
    const double *fix_stamp;
    double fix_seen;
    uint8_t *stage, *frames, *rest, *came;
    int64_t staged;          /* bytes in `stage`: samples of this step before its last */
    int64_t room, came_room; /* bytes of `stage` and of `came`; the others have twice the first */
    int64_t waiting, kept;   /* bytes in `rest` and in `came` */
    uint8_t sequence, system, component, spare;
    const uint32_t *ids;
    const uint8_t *extras;
    int64_t known;
    int64_t tally[2];
    ib_ring said, ordered, ground, gave; /* the last: what went to the board, if somebody watches */
    int64_t watched;
    double tick_s;
    double controls[16];
    int64_t armed, armed_tick, sent, unsent, fixes, last_ns;
} ib_board;

static int64_t filled(const ib_ring *r)
{
    return __atomic_load_n(&r->head, __ATOMIC_ACQUIRE) - __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE);
}

static void copy_in(ib_ring *r, int64_t at, const void *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++) r->bytes[(at + i) & (r->size - 1)] = ((const uint8_t *)from)[i];
}

static void copy_out(const ib_ring *r, int64_t at, void *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++) ((uint8_t *)to)[i] = r->bytes[(at + i) & (r->size - 1)];
}

/* Host to board: whole pieces (a length of 4 bytes, then the bytes), or none. */
EXPORT int64_t ib_ring_put(ib_ring *r, const uint8_t *bytes, int64_t count)
{
    const uint32_t length = (uint32_t)count;
    if (filled(r) + 4 + count > r->size) {
        r->overflowed++;
        return 0;
    }
    copy_in(r, r->head, &length, 4);
    copy_in(r, r->head + 4, bytes, count);
    __atomic_store_n(&r->head, r->head + 4 + count, __ATOMIC_RELEASE);
    return 1;
}

/* The next piece, if it has at most `room` bytes; 0: there is none. */
static int64_t ring_take(ib_ring *r, uint8_t *to, int64_t room)
{
    if (filled(r) < 4) return 0;
    uint32_t length;
    copy_out(r, r->tail, &length, 4);
    if (length > room) return 0;
    copy_out(r, r->tail + 4, to, length);
    __atomic_store_n(&r->tail, r->tail + 4 + length, __ATOMIC_RELEASE);
    return length;
}

/* What the board said, or what it was given, for the host: a record and its bytes. */
static void tell(const ib_board *a, ib_ring *r, int64_t tick, int64_t wall_ns, int64_t fixes, const uint8_t *bytes,
                 int64_t count)
{
    const ib_heard record = {tick, wall_ns, a->unsent, fixes, count};
    if (filled(r) + (int64_t)sizeof record + count > r->size) {
        r->overflowed += count;
        return;
    }
    copy_in(r, r->head, &record, sizeof record);
    copy_in(r, r->head + (int64_t)sizeof record, bytes, count);
    __atomic_store_n(&r->head, r->head + (int64_t)sizeof record + count, __ATOMIC_RELEASE);
}

EXPORT int64_t ib_ring_heard(ib_ring *r, ib_heard *record, uint8_t *to, int64_t room)
{
    if (filled(r) < (int64_t)sizeof *record) return 0;
    copy_out(r, r->tail, record, sizeof *record);
    if (record->length > room) return CUT;
    copy_out(r, r->tail + (int64_t)sizeof *record, to, record->length);
    __atomic_store_n(&r->tail, r->tail + (int64_t)sizeof *record + record->length, __ATOMIC_RELEASE);
    return 1;
}

static void controls_of(ib_board *a, int64_t tick, const uint8_t *payload, int64_t length, int old)
{
    uint8_t whole[HIL_ACTUATOR_CONTROLS_SIZE] = {0}; /* trailing zeros were cut */
    const int from = old ? HIL_CONTROLS_ROLL_AILERONS_AT : HIL_ACTUATOR_CONTROLS_CONTROLS_AT, count = old ? 8 : 16;
    const int mode_at = old ? HIL_CONTROLS_MODE_AT : HIL_ACTUATOR_CONTROLS_MODE_AT;
    for (int64_t i = 0; i < length && i < HIL_ACTUATOR_CONTROLS_SIZE; i++) whole[i] = payload[i];
    for (int i = 0; i < 16; i++) {
        float value = 0;
        for (int k = 0; k < 4 && i < count; k++) ((uint8_t *)&value)[k] = whole[from + 4 * i + k];
        a->controls[i] = value;
    }
    const int64_t armed = (whole[mode_at] & MAV_MODE_FLAG_SAFETY_ARMED) != 0;
    if (armed != a->armed) {
        a->armed = armed;
        a->armed_tick = tick;
    }
}

static void hear(ib_board *a, int64_t tick)
{
    int32_t found[5 * MOST_FOUND];
    int64_t used = 0, count;
    do {
        count = a->scan(a->came, a->kept, a->ids, a->extras, a->known, found, MOST_FOUND, a->tally, &used);
        for (int64_t i = 0; i < count; i++) {
            const int32_t id = found[5 * i + 2];
            if (id == HIL_ACTUATOR_CONTROLS || id == HIL_CONTROLS)
                controls_of(a, tick, a->came + found[5 * i], found[5 * i + 1], id == HIL_CONTROLS);
        }
        a->kept -= used;
        for (int64_t i = 0; i < a->kept; i++) a->came[i] = a->came[used + i];
    } while (count == MOST_FOUND);
}

static uint64_t micros(const ib_board *a, int64_t tick) { return (uint64_t)((double)tick * a->tick_s * 1e6 + 0.5); }

/* Sensors between two exchanges: they go out with the next one, each with its own time. */
EXPORT void ib_sample(ib_board *a, int64_t tick)
{
    if (a->staged < a->room / 2) a->staged += a->stage_sensors(a->sensors, micros(a, tick), a->stage + a->staged);
}

/* One exchange: sensors as they are after `tick`, at a moment of the wall. */
EXPORT int64_t ib_exchange(ib_board *a, int64_t tick, int64_t wall_ns)
{
    const uint64_t now_us = micros(a, tick);
    const int64_t fixes = a->fixes;
    int64_t staged = a->staged + a->stage_sensors(a->sensors, now_us, a->stage + a->staged);
    a->staged = 0;
    if (a->fix && *a->fix_stamp != a->fix_seen) {
        a->fix_seen = *a->fix_stamp;
        a->fixes++;
        staged += a->stage_fix(a->fix, now_us, 0, a->stage + staged);
    }
    for (int64_t more; (more = ring_take(&a->ordered, a->stage + staged, a->room - staged)) > 0;) staged += more;
    const int64_t length =
        a->seal(a->stage, staged, a->frames, &a->sequence, a->system, a->component);
    a->sent++;
    if (a->waiting > length) { /* what finds no room goes before the next step; if that found none either, not at all */
        a->unsent++;
    } else {
        for (int64_t i = 0; i < length; i++) a->rest[a->waiting + i] = a->frames[i];
        a->waiting += length;
    }
    for (int64_t more; a->waiting < a->room && (more = ring_take(&a->ground, a->rest + a->waiting, a->room)) > 0;)
        a->waiting += more;
    const int64_t gone = a->waiting ? a->give(a->cable, a->rest, a->waiting) : 0;
    if (gone < 0) return gone;
    if (a->watched && gone) tell(a, &a->gave, tick, wall_ns, fixes, a->rest, gone);
    a->waiting -= gone;
    for (int64_t i = 0; i < a->waiting; i++) a->rest[i] = a->rest[gone + i];

    const int64_t came = a->take(a->cable, a->came + a->kept, a->came_room - a->kept, wall_ns);
    if (came < 0) return came;
    if (came) {
        tell(a, &a->said, tick, wall_ns, fixes, a->came + a->kept, came);
        a->kept += came;
        hear(a, tick);
    }
    a->last_ns = wall_ns;
    a->place(a->outputs, a->controls, a->armed, (double)(tick - a->armed_tick) * a->tick_s);
    return 0;
}

/* A serial port. Linux lets whoever reads an empty terminal wait for a worker of the kernel: asking does not wait. */
EXPORT int64_t ib_tty_take(void *of, uint8_t *to, int64_t room, int64_t wall_ns)
{
    ib_cable *c = of;
    int32_t there = 0;
    (void)wall_ns;
    if (c->ioctl((int)c->handle, FIONREAD, &there) < 0) return -*c->error();
    if (!there) return 0;
    const int64_t count = c->read((int)c->handle, to, (uint64_t)(there < room ? there : room));
    if (count >= 0) return count ? count : -5; /* it said that there is something: hung up */
    return *c->error() == AGAIN || *c->error() == INTERRUPTED ? 0 : -*c->error();
}

EXPORT int64_t ib_tty_give(void *of, const uint8_t *from, int64_t count)
{
    ib_cable *c = of;
    const int64_t gone = c->write((int)c->handle, from, (uint64_t)count);
    if (gone >= 0) return gone;
    return *c->error() == AGAIN || *c->error() == INTERRUPTED ? 0 : -*c->error();
}

/* UDP: the first sender is the board; after a silence the next one is, as one that was restarted may be elsewhere. */
EXPORT int64_t ib_udp_take(void *of, uint8_t *to, int64_t room, int64_t wall_ns)
{
    ib_cable *c = of;
    int64_t came = 0;
    for (int n = 0; n < MOST_PACKETS && room - came >= MOST_BYTES; n++) {
        uint8_t from[16] = {0};
        uint32_t size = sizeof from;
        const int64_t count = c->recvfrom((int)c->handle, to + came, (uint64_t)(room - came), 0, from, &size);
        if (count < 0) {
            const int why = *c->error();
            return why == AGAIN || why == INTERRUPTED || why == REFUSED || came ? came : -why;
        }
        int same = (int)c->known;
        for (int i = 0; i < 8 && same; i++) same = from[i] == c->peer[i]; /* family, port, address */
        if (!same && c->known && wall_ns - c->heard_ns < c->silent_ns) {
            c->strangers++;
            continue;
        }
        for (int i = 0; i < 16; i++) c->peer[i] = from[i];
        c->known = 1;
        c->heard_ns = wall_ns;
        came += count;
    }
    return came;
}

EXPORT int64_t ib_udp_give(void *of, const uint8_t *from, int64_t count)
{
    ib_cable *c = of;
    if (!c->known) return count; /* nobody yet */
    const int64_t gone = c->sendto((int)c->handle, from, (uint64_t)count, 0, c->peer, sizeof c->peer);
    if (gone >= 0) return gone;
    const int why = *c->error();
    return why == AGAIN || why == INTERRUPTED || why == REFUSED ? 0 : -why;
}

LAYOUT(FIELD(ib_ring, bytes), FIELD(ib_ring, size), FIELD(ib_ring, head), FIELD(ib_ring, tail),
       FIELD(ib_ring, overflowed), SIZE(ib_ring),
       FIELD(ib_heard, tick), FIELD(ib_heard, wall_ns), FIELD(ib_heard, unsent), FIELD(ib_heard, fixes),
       FIELD(ib_heard, length), SIZE(ib_heard),
       FIELD(ib_cable, read), FIELD(ib_cable, write), FIELD(ib_cable, ioctl), FIELD(ib_cable, recvfrom),
       FIELD(ib_cable, sendto), FIELD(ib_cable, error), FIELD(ib_cable, handle), FIELD(ib_cable, peer),
       FIELD(ib_cable, known), FIELD(ib_cable, heard_ns), FIELD(ib_cable, silent_ns), FIELD(ib_cable, strangers),
       SIZE(ib_cable),
       FIELD(ib_board, take), FIELD(ib_board, give), FIELD(ib_board, cable), FIELD(ib_board, stage_sensors),
       FIELD(ib_board, stage_fix), FIELD(ib_board, seal), FIELD(ib_board, scan), FIELD(ib_board, place),
       FIELD(ib_board, sensors), FIELD(ib_board, fix), FIELD(ib_board, outputs), FIELD(ib_board, fix_stamp),
       FIELD(ib_board, fix_seen), FIELD(ib_board, stage), FIELD(ib_board, frames), FIELD(ib_board, rest),
       FIELD(ib_board, came), FIELD(ib_board, staged),
       FIELD(ib_board, room), FIELD(ib_board, came_room), FIELD(ib_board, waiting),
       FIELD(ib_board, kept), FIELD(ib_board, sequence), FIELD(ib_board, system), FIELD(ib_board, component),
       FIELD(ib_board, spare), FIELD(ib_board, ids), FIELD(ib_board, extras), FIELD(ib_board, known),
       FIELD(ib_board, tally), FIELD(ib_board, said), FIELD(ib_board, ordered), FIELD(ib_board, ground),
       FIELD(ib_board, gave), FIELD(ib_board, watched),
       FIELD(ib_board, tick_s), FIELD(ib_board, controls), FIELD(ib_board, armed), FIELD(ib_board, armed_tick),
       FIELD(ib_board, sent), FIELD(ib_board, unsent), FIELD(ib_board, fixes), FIELD(ib_board, last_ns),
       SIZE(ib_board))
