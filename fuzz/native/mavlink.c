/* MAVLink frames in a stream; the first four bytes say where it is cut, as in fuzz/targets/mavlink.py.
 *
 * Frames and counts are the same however the stream is cut; each byte belongs to a frame, is skipped, or waits; what is
 * found is sealed again to a frame that is found again. */
#define MOST 64

typedef struct {
    int64_t tally[2], frames;
    uint64_t sum; /* of ids, senders and payloads */
    uint8_t *rest;
    int64_t kept;
} reader;

static void feed(reader *r, const uint8_t *data, int64_t size)
{
    uint8_t *all = malloc((size_t)(r->kept + size) + 1);
    uint8_t *exact = all + 1; /* its end is the end of the memory */
    int64_t count = r->kept + size, used = 0, found;
    memcpy(exact, r->rest, (size_t)r->kept);
    memcpy(exact + r->kept, data, (size_t)size);
    const uint8_t *at = exact;
    do {
        int32_t rows[5 * MOST];
        found = ib_scan(at, count, KNOWN_IDS, KNOWN_EXTRAS, KNOWN, rows, MOST, r->tally, &used);
        MUST(found >= 0 && found <= MOST && used >= 0 && used <= count);
        for (int64_t i = 0; i < found; i++) {
            const int32_t *row = rows + 5 * i;
            MUST(row[0] >= 6 && row[1] >= 0 && row[1] <= 255 && row[0] + row[1] + 2 <= used);
            MUST(row[2] >= 0 && row[2] < 1 << 24 && row[3] >= 0 && row[3] < 256 && row[4] >= 0 && row[4] < 256);
            r->sum = r->sum * 31 + (uint64_t)row[2] * 65536 + (uint64_t)row[3] * 256 + (uint64_t)row[4];
            for (int32_t k = 0; k < row[1]; k++) r->sum = r->sum * 131 + at[row[0] + k];
            uint8_t stage[8 + 255] = {(uint8_t)row[2], (uint8_t)(row[2] >> 8), (uint8_t)(row[2] >> 16), 0, (uint8_t)row[1]};
            uint8_t sealed[8 + 255 + 12], sequence = 0;
            int32_t again[5];
            int64_t whole = 0, counts[2] = {0, 0};
            stage[5] = (uint8_t)extra_of((uint32_t)row[2], KNOWN_IDS, KNOWN_EXTRAS, KNOWN);
            memcpy(stage + 8, at + row[0], (size_t)row[1]);
            const int64_t length = ib_seal(stage, 8 + row[1], sealed, &sequence, row[3], row[4]);
            if (row[1] == 0) continue; /* a frame without a payload gets one byte of it: the zero that is never cut */
            MUST(length <= 12 + row[1] && sequence == 1);
            MUST(ib_scan(sealed, length, KNOWN_IDS, KNOWN_EXTRAS, KNOWN, again, 1, counts, &whole) == 1 && whole == length);
            MUST(again[2] == row[2] && again[3] == row[3] && again[4] == row[4] && again[1] <= row[1]);
            MUST(!memcmp(sealed + again[0], at + row[0], (size_t)again[1]));
        }
        r->frames += found;
        at += used, count -= used;
    } while (found == MOST);
    free(r->rest);
    r->rest = malloc((size_t)count + 1);
    memcpy(r->rest, at, (size_t)count);
    r->kept = count;
    free(all);
    MUST(count < 10 + 255 + 2 + 13);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4) return 0;
    const uint8_t *stream = data + 4;
    const int64_t length = (int64_t)size - 4;
    reader whole = {{0}}, cut = {{0}};
    whole.rest = malloc(1), cut.rest = malloc(1);
    feed(&whole, stream, length);
    int64_t from = 0, cuts[5];
    for (int i = 0; i < 4; i++) cuts[i] = 4 * data[i] % (length + 1);
    cuts[4] = length;
    for (int i = 0; i < 5; i++) {
        int64_t next = length;
        for (int k = 0; k < 5; k++)
            if (cuts[k] > from && cuts[k] < next) next = cuts[k];
        feed(&cut, stream + from, next - from);
        from = next;
    }
    MUST(from == length);
    MUST(cut.sum == whole.sum && cut.frames == whole.frames && cut.kept == whole.kept);
    MUST(cut.tally[0] == whole.tally[0] && cut.tally[1] == whole.tally[1]);
    free(whole.rest), free(cut.rest);
    return 0;
}
