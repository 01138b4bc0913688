/* Steps of the graded score (score.py) over columns [lane][row], with the same bits as NumPy's: additions, products and
 * comparisons alone, in the same order. The powers are NumPy's own, between the two functions. */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define BANDS 4 /* of errors, and of scores */

static int64_t ib_least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Whether the angles of a lane ever change by half a turn or more from one row to the next, or are not numbers. */
EXPORT void ib_jumps(const double *column, int64_t lanes, int64_t count, const int64_t *rows, double half_turn,
                     uint8_t *jumps)
{
    for (int64_t lane = 0; lane < lanes; ++lane, column += count) {
        int any = 0;
        for (int64_t row = 1; row < rows[lane]; ++row)
            any |= !(__builtin_fabs(column[row] - column[row - 1]) < half_turn);
        jumps[lane] = (uint8_t)any;
    }
}

/* The band of each sample's error: the ratio of its scores, how far into it, and its score at the edge, which is negative
 * behind the last edge. A sample is the mean of a row and the next one. With `angle` the error is the change from sample to
 * sample, else the square of the difference from what was `asked` for (a null pointer: zero). */
EXPORT void ib_score_bands(const double *value, const double *asked, int64_t angle, int64_t lanes, int64_t count,
                           const int64_t *first, const int64_t *rows, int64_t every, int64_t samples, const double *edge,
                           const double *score, double *ratio, double *inside, double *factor)
{
    double width[BANDS], steps[BANDS];
    for (int i = 0; i < BANDS; ++i) width[i] = edge[i + 1] - edge[i], steps[i] = score[i + 1] / score[i];
    for (int64_t lane = 0; lane < lanes; ++lane, value += count) {
        const int64_t last = rows[lane] - 1;
        double before = 0.0;
        for (int64_t i = 0; i < samples; ++i) {
            const int64_t at = ib_least(first[lane] + every * i, last), after = ib_least(first[lane] + every * i + 1, last);
            const double now = 0.5 * (value[at] + value[after]);
            double error;
            if (angle) {
                error = __builtin_fabs(i > 0 ? now - before : now - now);
                before = now;
            } else {
                const double wanted = asked ? 0.5 * (asked[at] + asked[after]) : 0.0;
                error = (now - wanted) * (now - wanted);
            }
            if (error != error) error = __builtin_inf();
            int band = 0;
            for (int j = 1; j < BANDS; ++j) band += error >= edge[j];
            *inside++ = ((error < edge[BANDS] ? error : edge[BANDS]) - edge[band]) / width[band];
            *ratio++ = steps[band];
            *factor++ = error > edge[BANDS] ? -1.0 : score[band];
        }
        if (asked) asked += count;
    }
}

/* Weighted sum of the samples of each channel and lane, and how many of its `used[lane]` samples are of each level.
 * A sample's score is `factor` times `power`, or the lane's `worst` if the factor is negative. */
EXPORT void ib_score_grade(const double *factor, const double *power, const double *worst, int64_t channels, int64_t lanes,
                           int64_t samples, const int64_t *used, const double *score, const double *weight, double *sum,
                           int64_t *counts)
{
    for (int64_t channel = 0; channel < channels; ++channel)
        for (int64_t lane = 0; lane < lanes; ++lane, factor += samples, power += samples, counts += BANDS + 1) {
            double total = 0.0, before = 0.0;
            for (int i = 0; i <= BANDS; ++i) counts[i] = 0;
            for (int64_t i = 0; i < used[lane]; ++i) {
                const double graded = factor[i] < 0.0 ? worst[lane] : factor[i] * power[i];
                const double now = graded > score[1] ? 1.0 : graded;
                double held = now; /* falls with the score, recovers one sample later */
                if (i > 0) held = now <= before ? before * (1.0 - (before - now)) : before;
                int level = BANDS;
                for (int j = 1; j <= BANDS; ++j) level -= held > score[j];
                total += weight[level] * held;
                ++counts[level];
                before = now;
            }
            *sum++ = total;
        }
}
