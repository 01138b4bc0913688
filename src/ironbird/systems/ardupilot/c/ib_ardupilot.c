/* The vehicle's state as text for ArduPilot: numbers with a fixed count of decimals put into a template.

   A byte below 16 in the template stands for the next number with that many decimals. A number that is not finite is
   replaced by the one before. */
#include <stdint.h>

#include "ib_math.h"

#define EXPORT __attribute__((visibility("default")))

typedef struct {
    const char *template;
    int64_t length;
    const double *const *sources; /* where each number stands */
    double *last;                 /* the last finite one of each */
    const double *q, *v, *p;      /* attitude, velocity in body axes, position; q is null if Python fills motion */
    double *motion;               /* velocity in N, Euler angles, quaternion, position */
    const double *pressure;       /* of the pitot tube, Pa; may be null */
    double *airspeed;
    double density;
    double ahead;                 /* s: the position goes on with the velocity for so long */
    char *out;
} ib_text;

static void move(const ib_text *a)
{
    double w = a->q[0], x = a->q[1], y = a->q[2], z = a->q[3];
    const double size = 1.0 / ib_sqrt(w * w + x * x + y * y + z * z);
    w *= size, x *= size, y *= size, z *= size;
    const double *v = a->v;
    double *m = a->motion, lift = 2 * (w * y - x * z);
    m[0] = (1 - 2 * (y * y + z * z)) * v[0] + 2 * (x * y - w * z) * v[1] + 2 * (x * z + w * y) * v[2];
    m[1] = 2 * (x * y + w * z) * v[0] + (1 - 2 * (x * x + z * z)) * v[1] + 2 * (y * z - w * x) * v[2];
    m[2] = -lift * v[0] + 2 * (y * z + w * x) * v[1] + (1 - 2 * (x * x + y * y)) * v[2];
    m[3] = ib_atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y));
    m[4] = ib_asin(lift > 1 ? 1 : lift < -1 ? -1 : lift);
    m[5] = ib_atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z));
    m[6] = w, m[7] = x, m[8] = y, m[9] = z;
    for (int i = 0; i < 3; i++) m[10 + i] = a->p[i] + m[i] * a->ahead;
}

static char *put(char *out, double value, int decimals)
{
    static const double tens[16] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    char digits[32];
    int count = 0;
    const double fits = 9e18 / tens[decimals], most = fits < 1e8 ? fits : 1e8; /* in 64 bits */
    if (value > most) value = most;
    if (value < -most) value = -most;
    if (value < 0) {
        *out++ = '-';
        value = -value;
    }
    int64_t whole = (int64_t)(value * tens[decimals] + 0.5);
    while (whole > 0 || count <= decimals) {
        digits[count++] = (char)('0' + whole % 10);
        whole /= 10;
    }
    while (count > 0) {
        if (count == decimals) *out++ = '.';
        *out++ = digits[--count];
    }
    return out;
}

EXPORT int64_t ib_state_text(const ib_text *a)
{
    if (a->q) move(a);
    if (a->pressure) *a->airspeed = *a->pressure > 0 ? ib_sqrt(2 * *a->pressure / a->density) : 0;
    char *out = a->out;
    int64_t number = 0;
    for (int64_t i = 0; i < a->length; i++) {
        const unsigned char c = (unsigned char)a->template[i];
        if (c >= 16 || c == '\n') {
            *out++ = (char)c;
            continue;
        }
        const double value = *a->sources[number];
        if (value - value == 0) a->last[number] = value;
        out = put(out, a->last[number], c);
        number++;
    }
    return out - a->out;
}

LAYOUT(FIELD(ib_text, template), FIELD(ib_text, length), FIELD(ib_text, sources), FIELD(ib_text, last),
       FIELD(ib_text, q), FIELD(ib_text, v), FIELD(ib_text, p), FIELD(ib_text, motion), FIELD(ib_text, pressure),
       FIELD(ib_text, airspeed), FIELD(ib_text, density), FIELD(ib_text, ahead), FIELD(ib_text, out), SIZE(ib_text))
