/* SHA-256 (FIPS 180-4) of lanes in the kernel's layout [block][row][column][place].
 *
 * The steps of one message depend on each other; a processor computes several messages in the time of one. Here it is one
 * message for each entry of a vector, on any processor that has vectors. A block of a message is 8 numbers.
 * A lane's message is the times of its rows, then row by row the columns of its own list; lanes end where they stopped.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define SLOTS 16 /* messages side by side */
#define AHEAD 8  /* blocks of each that are gathered before they are hashed: what is written has left the store queue */
#define BLOCK 8  /* lanes of the kernel's block, which lie together */
#define WORDS 16 /* of a block, which is 8 numbers */

typedef uint32_t words __attribute__((vector_size(4 * SLOTS)));
typedef uint64_t numbers __attribute__((vector_size(8 * SLOTS)));

typedef struct {
    const uint64_t *row;                /* the row that is read, from the lane's place on */
    const int64_t *first, *next, *last; /* places of its columns in a row, and of them the next one */
    int64_t timed, times;               /* times taken, and how many there are */
    int64_t taken, size;                /* the same of all numbers of the message */
    int64_t blocks;                     /* of the message with its end */
    int slot, lanes;                    /* place in the vectors, and how many lanes go through the same rows */
} ib_message;

static const uint32_t ib_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};
static const uint32_t ib_begin[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

/* The compiler would put sums of whole numbers in another order, which takes a seventh longer. */
#ifdef __AVX512F__
#define APART(x) __asm__("" : "+v"(x))
#else
#define APART(x)
#endif

#define ROTATED(x, n) (((x) >> (n)) | ((x) << (32 - (n))))
#define SWAPPED(x) (((x) >> 24) | (((x) >> 8) & 0xff00) | (((x) & 0xff00) << 8) | ((x) << 24))

/* One block of each message. */
static void ib_compress(words *h, const numbers *block)
{
    words w[WORDS];
    words a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], k = h[7];
    for (int i = 0; i < WORDS / 2; ++i) {
        const words low = __builtin_convertvector(block[i], words), high = __builtin_convertvector(block[i] >> 32, words);
        w[2 * i] = SWAPPED(low), w[2 * i + 1] = SWAPPED(high); /* words are read from the highest byte on */
    }
#pragma GCC unroll 64
    for (int i = 0; i < 64; ++i) {
        if (i >= 16) {
            const words x = w[(i + 1) & 15], y = w[(i + 14) & 15];
            w[i & 15] += (ROTATED(x, 7) ^ ROTATED(x, 18) ^ (x >> 3)) + w[(i + 9) & 15]
                         + (ROTATED(y, 17) ^ ROTATED(y, 19) ^ (y >> 10));
        }
        words ready = k + (ib_k[i] + w[i & 15]); /* what does not wait for the step before, first */
        APART(ready);
        const words one = (ready + ((e & f) ^ (~e & g))) + (ROTATED(e, 6) ^ ROTATED(e, 11) ^ ROTATED(e, 25));
        const words two = (ROTATED(a, 2) ^ ROTATED(a, 13) ^ ROTATED(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        k = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e, h[5] += f, h[6] += g, h[7] += k;
}

static int64_t ib_least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The next blocks of messages that go through the same rows, in their places of the vectors. */
static inline __attribute__((always_inline)) void ib_gather(ib_message *m, const uint64_t *time, int64_t row_size,
                                                            const int lanes, uint64_t *to)
{
    for (int64_t left = AHEAD * WORDS / 2; left > 0;) {
        int64_t count = 1;
        if (m->timed < m->times) {
            count = ib_least(left, m->times - m->timed);
            for (int64_t i = 0; i < count; ++i)
                for (int lane = 0; lane < lanes; ++lane) to[i * SLOTS + lane] = time[m->timed + i];
            m->timed += count;
        } else if (m->taken < m->size) {
            count = ib_least(left, m->last - m->next);
            for (int64_t i = 0; i < count; ++i)
                for (int lane = 0; lane < lanes; ++lane) to[i * SLOTS + lane] = m->row[m->next[i] + lane];
            m->next += count;
            if (m->next == m->last) m->next = m->first, m->row += row_size;
        } else { /* behind a message follow a bit, zeros, and its length in bits */
            const uint64_t length = m->taken == 8 * m->blocks - 1 ? __builtin_bswap64((uint64_t)m->size * 64) : 0;
            for (int lane = 0; lane < lanes; ++lane) to[lane] = m->taken == m->size ? 0x80 : length;
        }
        m->taken += count, left -= count, to += count * SLOTS;
    }
}

/* Whether all lanes of a block have the same rows and columns. */
static int ib_alike(int64_t lane, int64_t lanes, const int64_t *rows, const int64_t *first, const int64_t *last)
{
    if (lane % BLOCK != 0 || lane + BLOCK > lanes) return 0;
    for (int64_t i = lane + 1; i < lane + BLOCK; ++i)
        if (rows[i] != rows[lane] || first[i] != first[lane] || last[i] != last[lane]) return 0;
    return 1;
}

/* Hashes of lanes, 8 words each. Sizes are in numbers; `column` are the columns of lists, each lane's from `first[lane]`
 * to before `last[lane]`; `rows` is how many rows each has. */
EXPORT void ib_hash_lanes(const uint64_t *data, int64_t block_size, int64_t row_size, int64_t width, int64_t lanes,
                          const uint64_t *time, const int64_t *rows, const int64_t *column, const int64_t *first,
                          const int64_t *last, uint32_t *hashes)
{
    for (int64_t begin = 0; begin < lanes; begin += SLOTS) {
        const int64_t end = ib_least(begin + SLOTS, lanes);
        ib_message message[SLOTS];
        numbers block[AHEAD * WORDS / 2] = {0};
        words h[8] = {0};
        int64_t most = 0;
        int count = 0;
        for (int i = 0; i < 8; ++i) h[i] += ib_begin[i];
        for (int64_t lane = begin; lane < end; lane += message[count++].lanes) {
            ib_message *m = &message[count];
            m->slot = (int)(lane - begin);
            m->lanes = width == BLOCK && ib_alike(lane, end, rows, first, last) ? BLOCK : 1;
            m->row = data + lane / width * block_size + lane % width;
            m->first = m->next = column + first[lane];
            m->last = column + last[lane];
            m->timed = m->taken = 0;
            m->times = rows[lane];
            m->size = rows[lane] * (1 + (m->last - m->first));
            m->blocks = (m->size + 9) / 8;
            if (m->blocks > most) most = m->blocks;
        }
        for (int64_t done = 0; done < most; done += AHEAD) {
            for (int i = 0; i < count; ++i) {
                uint64_t *to = (uint64_t *)block + message[i].slot;
                if (done >= message[i].blocks) continue;
                if (message[i].lanes == BLOCK)
                    ib_gather(&message[i], time, row_size, BLOCK, to);
                else
                    ib_gather(&message[i], time, row_size, 1, to);
            }
            for (int n = 0; n < AHEAD; ++n) {
                ib_compress(h, block + n * WORDS / 2);
                for (int i = 0; i < count; ++i) {
                    if (done + n + 1 != message[i].blocks) continue;
                    for (int64_t slot = message[i].slot; slot < message[i].slot + message[i].lanes; ++slot)
                        for (int j = 0; j < 8; ++j) hashes[8 * (begin + slot) + j] = ((const uint32_t *)&h[j])[slot];
                }
            }
        }
    }
}
