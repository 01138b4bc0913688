/* Steps of the graded score (score.py), with the same bits as NumPy's: additions, products and comparisons alone, in the
 * same order. The powers are NumPy's own, between the last two functions.
 *
 * Columns are addresses; a value stands at begin[column][lane / GROUP * group_size + lane % GROUP * lane_size + row * row_size],
 * so that they are read where the kernel wrote them, eight lanes beside each other, or in arrays [lane][row]. */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define INLINE static inline __attribute__((always_inline))
#define GROUP 8
#define AHEAD 12 /* rows that are asked for before they are read */
#define BANDS 4 /* of errors, and of scores */

static int64_t ib_least(int64_t a, int64_t b) { return a < b ? a : b; }

INLINE void ib_jumps_of_group(const double *x, const int64_t lane_size, int64_t row_size, int lanes, const int64_t *rows,
                              double half_turn, uint8_t *jumps)
{
    int64_t any[GROUP] = {0}, most = 0;
    for (int i = 0; i < lanes; ++i) most = rows[i] > most ? rows[i] : most;
    for (int64_t row = 1; row < most; ++row, x += row_size) {
        if (lane_size == 1) __builtin_prefetch(x + AHEAD * row_size);
        for (int i = 0; i < lanes; ++i) {
            const int steady = __builtin_fabs(x[row_size + i * lane_size] - x[i * lane_size]) < half_turn;
            any[i] |= (int64_t)(!steady) & (int64_t)(row < rows[i]);
        }
    }
    for (int i = 0; i < lanes; ++i) jumps[i] = (uint8_t)any[i];
}

/* Whether the angles of a lane ever change by half a turn or more from one row to the next, or are not numbers:
 * jumps[column][lane]. */
EXPORT void ib_jumps(const double *const *begin, int64_t columns, int64_t group_size, int64_t lane_size, int64_t row_size,
                     int64_t lanes, const int64_t *rows, double half_turn, uint8_t *jumps)
{
    for (int64_t c = 0; c < columns; ++c)
        for (int64_t lane = 0; lane < lanes; lane += GROUP) {
            const double *x = begin[c] + lane / GROUP * group_size;
            uint8_t *found = jumps + c * lanes + lane;
            if (lane_size == 1 && lane + GROUP <= lanes)
                ib_jumps_of_group(x, 1, row_size, GROUP, rows + lane, half_turn, found);
            else
                ib_jumps_of_group(x, lane_size, row_size, (int)ib_least(GROUP, lanes - lane), rows + lane, half_turn, found);
        }
}

/* Samples of columns: each the mean of a row and the next one, every so many rows from `first[lane]` on, as long as the lane
 * has rows; found[column][lane][sample]. Row by row, so that each is read once for all lanes and columns. */
EXPORT void ib_samples(const double *const *begin, int64_t columns, int64_t group_size, int64_t lane_size, int64_t row_size,
                       int64_t lanes, const int64_t *first, const int64_t *rows, int64_t every, int64_t samples, double *found)
{
    for (int64_t lane = 0; lane < lanes; lane += GROUP) {
        const int count = (int)ib_least(GROUP, lanes - lane);
        int64_t due[GROUP], taken[GROUP] = {0}, most = 0, least = INT64_MAX;
        for (int i = 0; i < count; ++i) {
            due[i] = first[lane + i];
            least = ib_least(least, due[i]);
            if (rows[lane + i] > most) most = rows[lane + i];
        }
        for (int64_t row = least; row < most; ++row) {
            if (lane_size == 1) /* rows lie too far apart for the processor to guess */
                for (int64_t c = 0; c < columns; ++c)
                    __builtin_prefetch(begin[c] + lane / GROUP * group_size + (row + AHEAD) * row_size);
            for (int i = 0; i < count; ++i) {
                if (row != due[i] || row >= rows[lane + i]) continue;
                const int64_t group = lane / GROUP * group_size + i * lane_size;
                const int64_t at = group + row * row_size, after = group + ib_least(row + 1, rows[lane + i] - 1) * row_size;
                double *to = found + (lane + i) * samples + taken[i]++;
                for (int64_t c = 0; c < columns; ++c) to[c * lanes * samples] = 0.5 * (begin[c][at] + begin[c][after]);
                due[i] += every;
            }
        }
    }
}

/* The band of each sample's error: the ratio of its scores, how far into it, and its score at the edge, which is negative
 * behind the last edge. With `angle` the error is the change from sample to sample, else the square of the difference from
 * what was `asked` for (a null pointer: zero). All are [lane][sample]; behind those of a lane there is nothing to grade. */
EXPORT void ib_score_bands(const double *value, const double *asked, int64_t angle, int64_t lanes, int64_t samples,
                           const int64_t *used, const double *edge, const double *score, double *ratio, double *inside,
                           double *factor)
{
    double width[BANDS], steps[BANDS];
    for (int i = 0; i < BANDS; ++i) width[i] = edge[i + 1] - edge[i], steps[i] = score[i + 1] / score[i];
    for (int64_t lane = 0; lane < lanes; ++lane) {
        for (int64_t i = 0; i < used[lane]; ++i) {
            const double now = value[i], apart = angle ? now - value[i > 0 ? i - 1 : 0] : now - (asked ? asked[i] : 0.0);
            double error = angle ? __builtin_fabs(apart) : apart * apart;
            if (error != error) error = __builtin_inf();
            int band = 0;
            for (int j = 1; j < BANDS; ++j) band += error >= edge[j];
            inside[i] = ((error < edge[BANDS] ? error : edge[BANDS]) - edge[band]) / width[band];
            ratio[i] = steps[band];
            factor[i] = error > edge[BANDS] ? -1.0 : score[band];
        }
        for (int64_t i = used[lane]; i < samples; ++i) inside[i] = 0.0, ratio[i] = factor[i] = 1.0;
        value += samples, inside += samples, ratio += samples, factor += samples;
        if (asked) asked += samples;
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
