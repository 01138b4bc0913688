/* Frames of the ProVANT protocol on the board's serial lines: 0x7E, payload, Fletcher-16, 0x7E.
 *
 * Payloads fit, bytes that are sent are read back, and after any noise a flag brings the reader back. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    frame_reader *r = calloc(1, sizeof *r);
    for (size_t i = 0; i < size; i++) {
        const int length = frame_read(r, data[i]);
        MUST(length >= 0 && length <= FRAME_PAYLOAD && (uint32_t)length <= i + 1);
    }
    uint8_t payload[FRAME_PAYLOAD], *out = malloc(FRAME_MOST);
    const uint32_t count = size < FRAME_PAYLOAD ? (uint32_t)size : FRAME_PAYLOAD;
    memcpy(payload, data, count);
    const uint32_t length = frame_write(out, payload, count);
    MUST(length <= FRAME_MOST);
    frame_read(r, FRAME_FLAG); /* ends whatever was open */
    int taken = 0;
    for (uint32_t i = 0; i < length; i++) taken = frame_read(r, out[i]);
    MUST(taken == (int)count && !memcmp(r->bytes, payload, count));
    free(r), free(out);
    return 0;
}
