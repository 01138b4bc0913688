/* MAVLink frames: seal staged messages, find frames in a byte stream [MAVLink2].
 *
 * A staged message is: id (u32), length of the payload (u8), CRC_EXTRA (u8), two spare bytes, the payload.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define MAGIC_1 0xFE
#define MAGIC_2 0xFD
#define SIGNED 0x01
#define SIGNATURE 13
#define STAGE_HEADER 8

/* CRC-16/MCRF4XX: X.25 without the final inversion */
static inline uint16_t crc_byte(uint16_t crc, uint8_t byte)
{
    byte ^= (uint8_t)crc;
    byte ^= (uint8_t)(byte << 4);
    return (uint16_t)((crc >> 8) ^ (byte << 8) ^ (byte << 3) ^ (byte >> 4));
}

EXPORT uint16_t ib_crc(const uint8_t *data, int64_t count, uint16_t crc)
{
    for (int64_t i = 0; i < count; i++) crc = crc_byte(crc, data[i]);
    return crc;
}

/* Write staged messages as MAVLink 2 frames with trailing zeros cut; returns the length. */
EXPORT int64_t ib_seal(const uint8_t *stage, int64_t count, uint8_t *out, uint8_t *sequence, int sysid, int compid)
{
    uint8_t *at = out;
    for (int64_t i = 0; i < count;) {
        const uint8_t *head = stage + i;
        const uint8_t *payload = head + STAGE_HEADER;
        int full = head[4], length = full;
        while (length > 1 && payload[length - 1] == 0) length--;
        at[0] = MAGIC_2;
        at[1] = (uint8_t)length;
        at[2] = at[3] = 0;
        at[4] = (*sequence)++;
        at[5] = (uint8_t)sysid;
        at[6] = (uint8_t)compid;
        at[7] = head[0];
        at[8] = head[1];
        at[9] = head[2];
        for (int k = 0; k < length; k++) at[10 + k] = payload[k];
        uint16_t crc = crc_byte(ib_crc(at + 1, 9 + length, 0xFFFF), head[5]);
        at[10 + length] = (uint8_t)crc;
        at[11 + length] = (uint8_t)(crc >> 8);
        at += 12 + length;
        i += STAGE_HEADER + full;
    }
    return at - out;
}

static int extra_of(uint32_t id, const uint32_t *ids, const uint8_t *extras, int64_t known)
{
    int64_t low = 0, high = known - 1;
    while (low <= high) {
        int64_t middle = (low + high) / 2;
        if (ids[middle] == id) return extras[middle];
        if (ids[middle] < id) low = middle + 1;
        else high = middle - 1;
    }
    return -1;
}

/* Checksums of pieces that overlap, each byte read once. What a byte does to a checksum is linear, so the checksum of
 * bytes a to b follows from the ones after a and after b of a single pass, by a product of polynomials [CRCCombine].
 * Junk that looks like the beginning of a frame at each byte costs a product for each, not a pass over a frame. */
#define PIECE 264 /* bytes under the checksum of the longest frame */
#define RING 512  /* more than a piece, a power of 2 */

typedef struct {
    const uint8_t *data;
    int64_t first, end;   /* `sums` holds the checksums after the bytes before these places */
    uint16_t sums[RING];
    uint16_t powers[PIECE + 1]; /* x^(8 n), made as they are needed */
    int64_t made;
} ib_sums;

/* Product of two polynomials modulo that of the checksum; x^0 is the highest bit */
static uint16_t product(uint16_t a, uint16_t b)
{
    uint16_t sum = 0;
    for (int bit = 15; bit >= 0; bit--) {
        sum ^= (uint16_t)(-(a >> bit & 1) & b);
        b = (uint16_t)(b >> 1 ^ (-(b & 1) & 0x8408));
    }
    return sum;
}

/* Checksum of `count` bytes, at most PIECE, from a place on that is not before the one of the last call */
static uint16_t sum_of(ib_sums *s, int64_t from, int64_t count)
{
    if (from >= s->end || from < s->first) {
        s->first = s->end = from;
        s->sums[from & (RING - 1)] = 0xFFFF;
    }
    for (; s->end < from + count; s->end++)
        s->sums[(s->end + 1) & (RING - 1)] = crc_byte(s->sums[s->end & (RING - 1)], s->data[s->end]);
    uint16_t whole = s->sums[(from + count) & (RING - 1)];
    if (from == s->first) return whole;
    if (!s->made) s->powers[s->made++] = 0x8000;
    for (; s->made <= count; s->made++) s->powers[s->made] = crc_byte(s->powers[s->made - 1], 0);
    return whole ^ product(s->powers[count], s->sums[from & (RING - 1)] ^ 0xFFFF);
}

/* Find frames. `found` takes rows of: start of the payload, its length, id, sysid, compid; `tally` counts bytes that
 * were skipped and frames that had a wrong checksum or an unknown id. Returns the number of frames; `*used` bytes are
 * done with, the rest may be the beginning of a frame. */
EXPORT int64_t ib_scan(const uint8_t *data, int64_t count, const uint32_t *ids, const uint8_t *extras, int64_t known,
                       int32_t *found, int64_t most, int64_t *tally, int64_t *used)
{
    int64_t at = 0, number = 0;
    ib_sums sums;
    sums.data = data;
    sums.first = sums.end = sums.made = 0;
    while (at < count && number < most) {
        const uint8_t *p = data + at;
        int64_t left = count - at;
        int header;
        if (p[0] == MAGIC_2) header = 10;
        else if (p[0] == MAGIC_1) header = 6;
        else {
            at++;
            tally[0]++;
            continue;
        }
        if (left < 3) break;
        if (header == 10 && (p[2] & ~SIGNED)) {
            at++;
            tally[0]++;
            continue;
        }
        int64_t body = header + p[1] + 2, whole = body + (header == 10 && (p[2] & SIGNED) ? SIGNATURE : 0);
        if (left < header) break;
        uint32_t id = header == 10 ? p[7] | (uint32_t)p[8] << 8 | (uint32_t)p[9] << 16 : p[5];
        int extra = extra_of(id, ids, extras, known);
        if (extra >= 0 && left < whole) break;
        uint16_t crc = extra < 0 ? 0 : crc_byte(sum_of(&sums, at + 1, body - 3), (uint8_t)extra);
        if (extra < 0 || p[body - 2] != (uint8_t)crc || p[body - 1] != (uint8_t)(crc >> 8)) {
            at++;
            tally[0]++;
            tally[1]++;
            continue;
        }
        int32_t *row = found + 5 * number++;
        row[0] = (int32_t)(at + header);
        row[1] = p[1];
        row[2] = (int32_t)id;
        row[3] = p[header == 10 ? 5 : 3];
        row[4] = p[header == 10 ? 6 : 4];
        at += whole;
    }
    *used = at;
    return number;
}
