/* Margins of conditions over lanes in the kernel's layout [block][row][column][place]: a stack machine whose values are
 * some rows of a block of lanes at once. Operations are those of triggers (runtime/predicate.py), with the same functions
 * and so the same bits; behind them those of margins (lane_margins.py), both defined before this text. */
#include "ib_math.h"

#define EXPORT __attribute__((visibility("default")))
#define ROWS 32 /* of a value on the stack: 2 KB */

typedef double ib_eight __attribute__((vector_size(8 * IB_W), aligned(8)));

#define EACH for (int i = 0; i < many; ++i)

/* `many` rows from `row` on of one block; behind its last row the last one is taken again. */
static void ib_values(const double *data, int64_t row_size, const double *time, int64_t row, int64_t most,
                      const int64_t *code, int64_t length, const double *constant, const double *of_lanes,
                      int64_t lanes, const ib_i *last, int many, ib_f (*stack)[ROWS])
{
    int top = -1;
    for (const int64_t *op = code; op < code + 2 * length; op += 2) {
        const int64_t argument = op[1];
        ib_f *a = stack[top < 0 ? 0 : top], *b = stack[top + 1]; /* the upper value, and the place above it */
        switch (op[0]) {
        case OP_PUSH_SIGNAL:
            EACH {
                const double *value = data + (row + i < most ? row + i : most) * row_size + argument;
                __builtin_prefetch(value + ROWS * row_size); /* rows lie too far apart for the processor to guess */
                b[i] = *(const ib_eight *)value;
            }
            break;
        case OP_PUSH_CONSTANT: EACH b[i] = ib_splat(constant[argument]); break;
        case OP_PUSH_TIME: EACH b[i] = ib_splat(time[row + i < most ? row + i : most]); break;
        case OP_PUSH_OF_LANE: EACH b[i] = *(const ib_eight *)(of_lanes + argument * lanes); break;
        case OP_PUSH_IN_LAST_ROW: {
            const ib_f value = *(const ib_eight *)(of_lanes + argument * lanes);
            EACH b[i] = ib_as_f((ib_u)(*last == (row + i) - (ib_i){0}) & ib_as_u(value));
            break;
        }
        case OP_NEGATE: EACH a[i] = -a[i]; break;
        case OP_ABS: EACH a[i] = ib_fabs(a[i]); break;
        case OP_SQUARE: EACH a[i] = a[i] * a[i]; break;
        case OP_SQRT: EACH a[i] = ib_sqrt(a[i]); break;
        case OP_COS: EACH a[i] = ib_cos(a[i]); break;
        case OP_SIN: EACH a[i] = ib_sin(a[i]); break;
        case OP_ACOS: EACH a[i] = ib_acos(ib_at_least(ib_at_most(a[i], 1.0), -1.0)); break;
        case OP_ALL_OR_NOTHING: /* of a distance: an infinite margin with the sign of equality */
            EACH a[i] = ib_select(ib_lt(a[i], ib_splat(0.5)), ib_splat(IB_INF),
                                  ib_select(ib_ne(a[i], a[i]), a[i], ib_splat(-IB_INF)));
            break;
        case OP_SIGN_OF_MARGIN: /* infinite, with the sign of a margin */
            EACH a[i] = ib_select(ib_le(ib_splat(0.0), a[i]), ib_splat(IB_INF),
                                  ib_select(ib_ne(a[i], a[i]), a[i], ib_splat(-IB_INF)));
            break;
        default:
            a = stack[top - 1], b = stack[top]; /* the lower and the upper value */
            switch (op[0]) {
            case OP_ADD: EACH a[i] = a[i] + b[i]; break;
            case OP_SUBTRACT: EACH a[i] = a[i] - b[i]; break;
            case OP_MULTIPLY: EACH a[i] = a[i] * b[i]; break;
            case OP_DIVIDE: EACH a[i] = a[i] / b[i]; break;
            case OP_MINIMUM: EACH a[i] = ib_select(ib_or(ib_lt(a[i], b[i]), ib_ne(a[i], a[i])), a[i], b[i]); break;
            case OP_MAXIMUM: EACH a[i] = ib_select(ib_or(ib_lt(b[i], a[i]), ib_ne(a[i], a[i])), a[i], b[i]); break;
            case OP_HYPOT: EACH a[i] = ib_hypot(a[i], b[i]); break;
            case OP_GREATER_EQUAL: EACH a[i] = ib_num(ib_le(b[i], a[i])); break;
            }
            --top;
            continue;
        }
        if (op[0] <= OP_PUSH_TIME || op[0] == OP_PUSH_OF_LANE || op[0] == OP_PUSH_IN_LAST_ROW) ++top;
    }
}

/* The least (or greatest) value of some code over rows `low` to `high` of each lane, both included, as far as it has them:
 * rows[lane]; with `last` >= 0 only of the last of them, from `last` rows before the end on. `empty` without any row, NaN
 * if one value is none. Lanes are whole blocks; `of_lanes` are numbers of each lane that code names, [number][lane]. */
EXPORT void ib_margins(const double *data, int64_t block_size, int64_t row_size, int64_t lanes, const double *time,
                       const int64_t *rows, const int64_t *code, int64_t length, const double *constant,
                       const double *of_lanes, int64_t low, int64_t high, int64_t last, int64_t greatest, double empty,
                       double *found)
{
    ib_f stack[DEEPEST][ROWS];
    for (int64_t lane = 0; lane < lanes; lane += IB_W, data += block_size, of_lanes += IB_W) {
        ib_f best = ib_splat(empty);
        ib_i begin, end, ends, none = {0};
        int64_t bottom = INT64_MAX, top = -1, most = 0; /* rows that any lane looks at, and the last that one has */
        for (int i = 0; i < IB_W; ++i) {
            ends[i] = rows[lane + i] - 1;
            begin[i] = last >= 0 && ends[i] - last > low ? ends[i] - last : low;
            end[i] = ends[i] < high ? ends[i] : high;
            if (ends[i] > most) most = ends[i];
            if (end[i] < begin[i]) continue;
            if (begin[i] < bottom) bottom = begin[i];
            if (end[i] > top) top = end[i];
        }
        for (int64_t row = bottom; row <= top; row += ROWS) {
            ib_values(data, row_size, time, row, most, code, length, constant, of_lanes, lanes, &ends, ROWS,
                      stack);
            for (int i = 0; i < ROWS && row + i <= top; ++i) {
                const ib_i now = (row + i) - (ib_i){0}, seen = (ib_i)(begin <= now) & (ib_i)(now <= end);
                const ib_f value = stack[0][i];
                none |= seen & ib_ne(value, value);
                best = ib_select(seen & (greatest ? ib_lt(best, value) : ib_lt(value, best)), value, best);
            }
        }
        *(ib_eight *)(found + lane) = ib_select(none, ib_splat(IB_NAN), best);
    }
}
