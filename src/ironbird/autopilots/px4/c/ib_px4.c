/* The hot path of PX4's simulator link: HIL_SENSOR staged from where the sensors stand, and the answer to it.
 *
 * Follows ib_clock.h, ib_messages.h and ib_mavlink.c in one text: messages are staged as its ib_seal takes them, frames are found by its ib_scan.
 */
#include "ib_math.h"

/* fields_updated by group */
#define ACCEL (HIL_SENSOR_UPDATED_XACC | HIL_SENSOR_UPDATED_YACC | HIL_SENSOR_UPDATED_ZACC)
#define GYRO (HIL_SENSOR_UPDATED_XGYRO | HIL_SENSOR_UPDATED_YGYRO | HIL_SENSOR_UPDATED_ZGYRO)
#define MAG (HIL_SENSOR_UPDATED_XMAG | HIL_SENSOR_UPDATED_YMAG | HIL_SENSOR_UPDATED_ZMAG)
#define BARO (HIL_SENSOR_UPDATED_ABS_PRESSURE | HIL_SENSOR_UPDATED_PRESSURE_ALT | HIL_SENSOR_UPDATED_TEMPERATURE)

typedef struct {
    const double *value, *stamp; /* null if there is none */
    double seen;                 /* time of the sample that was staged last */
} ib_sensor;

typedef struct {
    ib_sensor accel, gyro, mag;
} ib_imu;

typedef struct {
    int64_t imus;
    ib_imu imu[3];
    ib_sensor baro[2], airspeed; /* the second barometer only for a PX4 that takes two */
    const double *turn; /* R_HB by rows; null if PX4's body axes are ours */
    double accel_limit, gyro_limit;
    double sea_level, exponent, slope, celsius, lapse; /* of the standard atmosphere */
    int64_t silent;                                    /* gyroscopes without a new sample */
    int64_t slow;                                      /* sensors that Python packs */
    ib_sensor other[8];
    int64_t due; /* one of them has a new sample */
} ib_inertial;

static int fresh(ib_sensor *s)
{
    if (!s->stamp || *s->stamp == s->seen) return 0;
    s->seen = *s->stamp;
    return 1;
}

static void turned(const double *turn, const double *v, double scale, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = scale * (turn ? turn[3 * i] * v[0] + turn[3 * i + 1] * v[1] + turn[3 * i + 2] * v[2] : v[i]);
}

/* Kept between two limits; what is no number is at the lower one. */
static void inside(double *v, double limit)
{
    for (int i = 0; i < 3; i++) v[i] = v[i] > limit ? limit : v[i] >= -limit ? v[i] : -limit;
}

static void put(uint8_t *at, const void *from, int count)
{
    for (int i = 0; i < count; i++) at[i] = ((const uint8_t *)from)[i];
}

/* What stands before a staged payload; returns the place of that. */
static uint8_t *headed(uint8_t *at, uint32_t id, uint8_t size, uint8_t extra)
{
    const uint8_t head[4] = {size, extra, 0, 0};
    put(at, &id, 4);
    put(at + 4, head, 4);
    return at + STAGE_HEADER;
}

/* Stage HIL_SENSOR of each unit that has something new, the first in any case: that is PX4's clock. */
EXPORT int64_t ib_stage_inertial(ib_inertial *a, uint64_t now_us, uint8_t *stage)
{
    uint8_t *at = stage;
    a->silent = a->imus;
    a->due = 0;
    for (int64_t n = 0; n < a->slow; n++) a->due |= fresh(&a->other[n]);
    const int64_t units = a->baro[1].stamp && a->imus < 2 ? 2 : a->imus;
    for (int64_t n = 0; n < units; n++) {
        ib_imu *imu = &a->imu[n];
        double v[13] = {0};
        uint32_t fields = 0;
        if (fresh(&imu->accel)) {
            fields |= ACCEL;
            turned(a->turn, imu->accel.value, 1.0, v);
        }
        if (fresh(&imu->gyro)) {
            fields |= GYRO;
            a->silent--;
            turned(a->turn, imu->gyro.value, 1.0, v + 3);
        }
        if (fresh(&imu->mag)) {
            fields |= MAG;
            turned(a->turn, imu->mag.value, 1e4, v + 6); /* T to gauss */
        }
        if (n == 0) {
            inside(v, a->accel_limit);
            inside(v + 3, a->gyro_limit);
            if (fresh(&a->airspeed)) {
                fields |= HIL_SENSOR_UPDATED_DIFF_PRESSURE;
                v[10] = 0.01 * *a->airspeed.value;
            }
        }
        if (n < 2 && fresh(&a->baro[n])) {
            fields |= BARO;
            double pascal = *a->baro[n].value;
            double altitude = a->slope * (1 - ib_pow((pascal > 1 ? pascal : 1) / a->sea_level, a->exponent));
            v[9] = 0.01 * pascal;
            v[11] = altitude;
            v[12] = a->celsius - a->lapse * altitude;
        }
        if (!fields && n > 0) continue;
        const uint8_t number = (uint8_t)n;
        uint8_t *payload = headed(at, HIL_SENSOR, HIL_SENSOR_SIZE, HIL_SENSOR_EXTRA);
        put(payload + HIL_SENSOR_TIME_USEC_AT, &now_us, 8);
        for (int i = 0; i < 13; i++) {
            const float small = (float)v[i];
            put(payload + HIL_SENSOR_XACC_AT + 4 * i, &small, 4);
        }
        put(payload + HIL_SENSOR_FIELDS_UPDATED_AT, &fields, 4);
        put(payload + HIL_SENSOR_ID_AT, &number, 1);
        at = payload + HIL_SENSOR_SIZE;
    }
    return at - stage;
}

/* A fix of a satellite receiver as HIL_GPS; `place` and `speed` are metres from home, north, east and down. */
#define NO_COURSE 65535
#define SLOWEST_COURSE 0.1
#define DEGREES 57.29577951308232
typedef struct {
    ib_sensor place;
    const double *speed, *eph, *epv, *kind, *satellites;
    double latitude, longitude, height;  /* of home, degrees and m */
    double north_m, east_m;              /* of a degree */
} ib_fix;

/* Rounded to even and kept inside; what is no number is `other`. */
static int64_t whole(double v, double low, double high, int64_t other)
{
    if (v != v) return other;
    return (int64_t)ib_round_even(v < low ? low : v > high ? high : v);
}

static int64_t signed_of(double v, int bits)
{
    const double limit = bits == 32 ? 2147483647.0 : 32767.0;
    return whole(v, -limit, limit, 0);
}

static int64_t centimetres(double v) { return whole(100 * v, 0, 65535, 65535); }

EXPORT int64_t ib_stage_fix(const ib_fix *a, uint64_t now_us, int64_t number, uint8_t *at)
{
    const double *p = a->place.value, *v = a->speed;
    const double speed = ib_hypot(v[0], v[1]);
    int64_t course = NO_COURSE;
    if (speed > SLOWEST_COURSE) {
        course = (int64_t)ib_round_even(100 * (ib_atan2(v[1], v[0]) * DEGREES)) % 36000;
        if (course < 0) course += 36000;
    }
    const int32_t geodetic[3] = {
        (int32_t)signed_of(1e7 * (a->latitude + p[0] / a->north_m), 32),
        (int32_t)signed_of(1e7 * (a->longitude + p[1] / a->east_m), 32),
        (int32_t)signed_of(1e3 * (a->height - p[2]), 32),
    };
    const uint16_t small[7] = {
        (uint16_t)centimetres(*a->eph), (uint16_t)centimetres(*a->epv), (uint16_t)centimetres(speed),
        (uint16_t)signed_of(100 * v[0], 16), (uint16_t)signed_of(100 * v[1], 16), (uint16_t)signed_of(100 * v[2], 16),
        (uint16_t)course,
    };
    const uint8_t tail[5] = {(uint8_t)whole(*a->kind, 0, 255, 0), (uint8_t)whole(*a->satellites, 0, 255, 0),
                             (uint8_t)number, 0, 0};
    uint8_t *payload = headed(at, HIL_GPS, HIL_GPS_SIZE, HIL_GPS_EXTRA);
    put(payload + HIL_GPS_TIME_USEC_AT, &now_us, 8);
    put(payload + HIL_GPS_LAT_AT, geodetic, 12);
    put(payload + HIL_GPS_EPH_AT, small, 14);
    put(payload + HIL_GPS_FIX_TYPE_AT, tail, 5);
    return STAGE_HEADER + HIL_GPS_SIZE;
}

/* PX4's outputs to the vehicle's actuators. */
#define MOST_OUTPUTS 16
typedef struct {
    double *inputs;
    int64_t count, channel[MOST_OUTPUTS], row[MOST_OUTPUTS], rotor[MOST_OUTPUTS]; /* rotor: 1 if it drives one */
    double idle; /* what PX4's lowest output is to a rotor while it is armed */
    int64_t parked, parked_row[MOST_OUTPUTS];
    int64_t released, released_row[MOST_OUTPUTS];
    double release_s;
    int64_t governed, drive, brake; /* a motor controller in speed mode */
    const double *ahead;            /* speed, m/s */
    double full, gain, drive_most, brake_most;
    int64_t joints, joint_row[MOST_OUTPUTS]; /* servos in position mode on joints that take torques */
    const double *angle, *turning;           /* of the joints, rad and rad/s */
    double travel, joint_gain, joint_damping;
} ib_outputs;

/* Hand over controls; what is no number counts as zero. */
EXPORT void ib_place(const ib_outputs *a, const double *controls, int64_t armed, double since_s)
{
    double *u = a->inputs;
    for (int64_t i = 0; i < a->count; i++) {
        const double v = controls[a->channel[i]];
        u[a->row[i]] = v != v ? 0.0 : v > 1.0 ? 1.0 : v < -1.0 ? -1.0 : v;
        if (armed && a->rotor[i] && v == 0.0) u[a->row[i]] = a->idle;
    }
    for (int64_t i = 0; i < a->parked; i++) u[a->parked_row[i]] = armed ? 0.0 : 1.0;
    if (armed && since_s >= a->release_s)
        for (int64_t i = 0; i < a->released; i++) u[a->released_row[i]] = 1.0;
    if (a->governed && armed) {
        const double speed = *a->ahead, wanted = a->gain * (u[a->drive] * a->full - speed);
        const int against = wanted * speed < 0;
        double drive = wanted / a->drive_most, brake = (wanted < 0 ? -wanted : wanted) / a->brake_most;
        drive = drive < -1.0 ? -1.0 : drive > 1.0 ? 1.0 : drive;
        u[a->drive] = against ? 0.0 : drive;
        u[a->brake] = against ? (brake < 1.0 ? brake : 1.0) : 0.0;
    }
    for (int64_t i = 0; i < a->joints; i++) {
        double *torque = &u[a->joint_row[i]];
        const double share = a->joint_gain * (*torque * a->travel - a->angle[i]) - a->joint_damping * a->turning[i];
        *torque = share < -1.0 ? -1.0 : share > 1.0 ? 1.0 : share;
    }
}

/* The answer. Functions of the C library are handed in: this code is linked against nothing. */
struct ib_poll {
    int fd;
    short events, revents;
};
#define POLLIN 1
#define MSG_DONTWAIT 0x40
#define MSG_NOSIGNAL 0x4000
enum { ANSWERED = 1, TIME_OVER = 0, CLOSED = -1, FAILED = -2, NOT_SENT = -3 };

typedef struct {
    int64_t (*send)(int, const void *, uint64_t, int);
    int64_t (*recv)(int, void *, uint64_t, int);
    int (*poll)(struct ib_poll *, uint64_t, int);
    ib_clock *clock;
    const uint32_t *ids;
    const uint8_t *extras;
    int64_t known;
    uint8_t *buffer; /* of received bytes that are not yet a whole frame */
    int64_t size, kept;
    int64_t tally[2];  /* bytes skipped, frames broken */
    int64_t received;  /* frames */
    int64_t last;      /* id of the last */
    int64_t answers;   /* HIL_ACTUATOR_CONTROLS among them */
    uint64_t answer_us, flags;
    int64_t mode;
    double controls[16];
    uint8_t *tap; /* what was received is kept here for whoever watches; none: 0 */
    int64_t tap_size, tapped;
} ib_wire;

static double now_of(const ib_wire *a) { return 1e-9 * (double)ib_now_ns(a->clock); }

static void take(ib_wire *a, const uint8_t *payload, int length)
{
    uint8_t whole[HIL_ACTUATOR_CONTROLS_SIZE] = {0}; /* trailing zeros were cut */
    put(whole, payload, length < HIL_ACTUATOR_CONTROLS_SIZE ? length : HIL_ACTUATOR_CONTROLS_SIZE);
    put((uint8_t *)&a->answer_us, whole + HIL_ACTUATOR_CONTROLS_TIME_USEC_AT, 8);
    put((uint8_t *)&a->flags, whole + HIL_ACTUATOR_CONTROLS_FLAGS_AT, 8);
    for (int i = 0; i < 16; i++) {
        float value;
        put((uint8_t *)&value, whole + HIL_ACTUATOR_CONTROLS_CONTROLS_AT + 4 * i, 4);
        a->controls[i] = value;
    }
    a->mode = whole[HIL_ACTUATOR_CONTROLS_MODE_AT];
    a->answers++;
}

static void scan(ib_wire *a)
{
    int32_t found[5 * 64];
    int64_t used = 0;
    int64_t count;
    do {
        count = ib_scan(a->buffer, a->kept, a->ids, a->extras, a->known, found, 64, a->tally, &used);
        for (int64_t i = 0; i < count; i++) {
            a->received++;
            a->last = found[5 * i + 2];
            if (a->last == HIL_ACTUATOR_CONTROLS) take(a, a->buffer + found[5 * i], found[5 * i + 1]);
        }
        a->kept -= used;
        for (int64_t i = 0; i < a->kept; i++) a->buffer[i] = a->buffer[used + i];
    } while (count == 64);
}

/* Take what comes until an answer of `asked_us` or later is there or `wait_s` is over. */
static int64_t receive(ib_wire *a, int fd, uint64_t asked_us, double wait_s)
{
    const double until = now_of(a) + wait_s;
    for (;;) {
        int64_t count = a->recv(fd, a->buffer + a->kept, (uint64_t)(a->size - a->kept), MSG_DONTWAIT);
        if (count < 0) { /* nothing there yet, or an error, which poll hands on to the next recv */
            struct ib_poll ask = {fd, POLLIN, 0};
            const double left = until - now_of(a);
            const int ready = a->poll(&ask, 1, left > 1e6 ? 1000000000 : left > 0 ? (int)(1e3 * left + 0.999) : 0);
            if (ready == 0) return TIME_OVER;
            if (ready < 0) { /* a signal */
                if (left <= 0) return TIME_OVER;
                continue;
            }
            count = a->recv(fd, a->buffer + a->kept, (uint64_t)(a->size - a->kept), MSG_DONTWAIT);
            if (count < 0) return FAILED;
        }
        if (count == 0) return CLOSED;
        if (a->tap && a->tapped + count <= a->tap_size) {
            put(a->tap + a->tapped, a->buffer + a->kept, (int)count);
            a->tapped += count;
        }
        a->kept += count;
        scan(a);
        if (a->answers && a->answer_us >= asked_us) return ANSWERED;
    }
}

/* The answer to `asked_us` in (if any is asked for), then frames out; without the answer in time they stay. */
EXPORT int64_t ib_turn(ib_wire *a, int fd, const uint8_t *frames, int64_t length, int64_t asked_us, double wait_s)
{
    if (asked_us >= 0) {
        const int64_t result = receive(a, fd, (uint64_t)asked_us, wait_s);
        if (result != ANSWERED) return result;
    }
    for (int64_t sent = 0; sent < length;) {
        const int64_t count = a->send(fd, frames + sent, (uint64_t)(length - sent), MSG_NOSIGNAL);
        if (count < 0) return NOT_SENT;
        sent += count;
    }
    return ANSWERED;
}

LAYOUT(FIELD(ib_sensor, value), FIELD(ib_sensor, stamp), FIELD(ib_sensor, seen), SIZE(ib_sensor),
       FIELD(ib_imu, accel), FIELD(ib_imu, gyro), FIELD(ib_imu, mag), SIZE(ib_imu),
       FIELD(ib_inertial, imus), FIELD(ib_inertial, imu), FIELD(ib_inertial, baro), FIELD(ib_inertial, airspeed),
       FIELD(ib_inertial, turn), FIELD(ib_inertial, accel_limit), FIELD(ib_inertial, gyro_limit),
       FIELD(ib_inertial, sea_level), FIELD(ib_inertial, exponent), FIELD(ib_inertial, slope),
       FIELD(ib_inertial, celsius), FIELD(ib_inertial, lapse), FIELD(ib_inertial, silent), FIELD(ib_inertial, slow),
       FIELD(ib_inertial, other), FIELD(ib_inertial, due), SIZE(ib_inertial),
       FIELD(ib_wire, send), FIELD(ib_wire, recv), FIELD(ib_wire, poll), FIELD(ib_wire, clock), FIELD(ib_wire, ids),
       FIELD(ib_wire, extras), FIELD(ib_wire, known), FIELD(ib_wire, buffer), FIELD(ib_wire, size),
       FIELD(ib_wire, kept), FIELD(ib_wire, tally), FIELD(ib_wire, received), FIELD(ib_wire, last),
       FIELD(ib_wire, answers), FIELD(ib_wire, answer_us), FIELD(ib_wire, flags), FIELD(ib_wire, mode),
       FIELD(ib_wire, controls), FIELD(ib_wire, tap), FIELD(ib_wire, tap_size), FIELD(ib_wire, tapped), SIZE(ib_wire),
       FIELD(ib_fix, place), FIELD(ib_fix, speed), FIELD(ib_fix, eph), FIELD(ib_fix, epv), FIELD(ib_fix, kind),
       FIELD(ib_fix, satellites), FIELD(ib_fix, latitude), FIELD(ib_fix, longitude), FIELD(ib_fix, height),
       FIELD(ib_fix, north_m), FIELD(ib_fix, east_m), SIZE(ib_fix),
       FIELD(ib_outputs, inputs), FIELD(ib_outputs, count), FIELD(ib_outputs, channel), FIELD(ib_outputs, row), FIELD(ib_outputs, rotor), FIELD(ib_outputs, idle),
       FIELD(ib_outputs, parked), FIELD(ib_outputs, parked_row), FIELD(ib_outputs, released),
       FIELD(ib_outputs, released_row), FIELD(ib_outputs, release_s), FIELD(ib_outputs, governed),
       FIELD(ib_outputs, drive), FIELD(ib_outputs, brake), FIELD(ib_outputs, ahead), FIELD(ib_outputs, full),
       FIELD(ib_outputs, gain), FIELD(ib_outputs, drive_most), FIELD(ib_outputs, brake_most),
       FIELD(ib_outputs, joints), FIELD(ib_outputs, joint_row), FIELD(ib_outputs, angle), FIELD(ib_outputs, turning),
       FIELD(ib_outputs, travel), FIELD(ib_outputs, joint_gain), FIELD(ib_outputs, joint_damping), SIZE(ib_outputs))
