/* One decision of the learning environments for all vehicles: actions to inputs, the log to a table, the table to margins,
 * reward, ends and observations. Behind the text of ib_margins.c, whose stack machine computes the margins: there a row is
 * a group of IB_W vehicles. The structure is mirrored in gym/decide.py. */

typedef struct {
    int64_t count, stride;                 /* vehicles; vehicles of a table's row, whole groups */
    int64_t width, logged, inputs, acting; /* lanes of a block, columns of the log, rows of inputs, numbers of an action */
    const double *log;                     /* [block][column][place] */
    const int64_t *place, *ticks, *stop;   /* lane of each vehicle; of blocks and of lanes */
    double *input;                         /* [block][row][place] */
    const int64_t *action_row;
    const double *action; /* [vehicle][number]; limited, then to SI: centre + x up, or down if x < 0 */
    const double *action_low, *action_high, *action_centre, *action_up, *action_down;
    double step_s;
    int64_t running;
    double *table; /* [column][vehicle]: log, time, the task's own signals */
    const int64_t *code, *first;
    const double *constant;
    int64_t goals, keeps;
    const double *weight, *per;
    double end_reward, success_reward;
    int64_t most_steps;
    double *margins, *least; /* [requirement][vehicle] */
    const double *extra;
    int64_t *steps;
    double *reward;
    uint8_t *stopped, *success, *terminated, *truncated;
    int64_t observed;
    const int64_t *shown; /* columns of the table */
    const float *low, *high, *divisor;
    float *observation; /* [vehicle][number] */
} ib_decision;

/* Write the actions to the inputs; the number of the first vehicle whose action is no finite number, or -1. */
EXPORT int64_t ib_act(const ib_decision *d)
{
    for (int64_t i = 0; i < d->count * d->acting; ++i)
        if (!(__builtin_fabs(d->action[i]) < IB_INF)) return i / d->acting;
    for (int64_t v = 0; v < d->count; ++v) {
        const int64_t block = d->place[v] / d->width, place = d->place[v] % d->width;
        for (int64_t n = 0; n < d->acting; ++n) {
            double x = d->action[v * d->acting + n];
            x = x < d->action_low[n] ? d->action_low[n] : x > d->action_high[n] ? d->action_high[n] : x;
            x = d->action_centre[n] + x * (x < 0.0 ? d->action_down[n] : d->action_up[n]);
            d->input[(block * d->inputs + d->action_row[n]) * d->width + place] = x;
        }
    }
    return -1;
}

/* Copy the last logged row of every vehicle to the table; how many stopped before it. */
EXPORT int64_t ib_take(const ib_decision *d)
{
    int64_t late = 0;
    for (int64_t v = 0; v < d->count; ++v) {
        const int64_t block = d->place[v] / d->width, place = d->place[v] % d->width;
        const double *from = d->log + block * d->logged * d->width + place;
        for (int64_t n = 0; n < d->logged; ++n) d->table[n * d->stride + v] = from[n * d->width];
        d->table[d->logged * d->stride + v] = (double)(d->ticks[block] - 1) * d->step_s;
        d->stopped[v] = d->stop[d->place[v]] != d->running;
        late += *from != *from;
    }
    return late;
}

/* The observations of all vehicles, limited to their bounds. */
EXPORT void ib_observe(const ib_decision *d)
{
    for (int64_t n = 0; n < d->observed; ++n) {
        const double *from = d->table + d->shown[n] * d->stride;
        const float low = d->low[n], high = d->high[n], divisor = d->divisor[n];
        for (int64_t v = 0; v < d->count; ++v) {
            const float x = (float)from[v];
            d->observation[v * d->observed + n] = (x < low ? low : x > high ? high : x) / divisor;
        }
    }
}

/* Margins, reward, ends and observations of all vehicles. */
EXPORT void ib_judge(const ib_decision *d)
{
    ib_f stack[DEEPEST][ROWS];
    const ib_i none = {0};
    const int64_t groups = d->stride / IB_W, all = d->goals + d->keeps;
    for (int64_t group = 0; group < groups; group += ROWS) {
        const int many = groups - group < ROWS ? (int)(groups - group) : ROWS;
        for (int64_t n = 0; n < all; ++n) {
            ib_values(d->table, IB_W, 0, group, groups - 1, d->code + 2 * d->first[n], d->first[n + 1] - d->first[n],
                      d->constant, 0, 0, &none, many, stack);
            for (int i = 0; i < many; ++i) {
                const ib_f value = stack[0][i];
                *(ib_eight *)(d->margins + n * d->stride + (group + i) * IB_W) =
                    ib_select(ib_ne(value, value), ib_splat(-IB_INF), value);
            }
        }
    }
    for (int64_t v = 0; v < d->count; ++v) {
        double total = 0.0;
        int broken = 0;
        for (int64_t n = 0; n < all; ++n) {
            const double margin = d->margins[n * d->stride + v];
            double *least = d->least + n * d->stride + v;
            if (margin < *least) *least = margin;
            if (n < d->goals) {
                const double share = margin / d->per[n];
                total += d->weight[n] * (share < -1.0 ? -1.0 : share > 1.0 ? 1.0 : share);
            } else
                broken |= margin < 0.0;
        }
        const int bad = d->stopped[v] | broken, good = d->success[v] & !bad;
        d->reward[v] = total + d->extra[v] + (bad ? d->end_reward : good ? d->success_reward : 0.0);
        d->success[v] = (uint8_t)good;
        d->terminated[v] = (uint8_t)(bad | good);
        d->truncated[v] = ++d->steps[v] >= d->most_steps && !(bad | good);
    }
    ib_observe(d);
}
