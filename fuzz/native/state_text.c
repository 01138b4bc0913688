/* The state as text for ArduPilot from numbers of any kind: it fits the room that systems/ardupilot/link.py makes, each
 * value is a decimal number, and its reader finds all of them. */
#define NUMBERS 24

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, data + size};
    double *values = malloc(NUMBERS * sizeof *values), *last = calloc(NUMBERS, sizeof *last), motion[13] = {0}, pressure, speed = 0;
    const double *sources[NUMBERS];
    char template[4 * NUMBERS + 8], *write = template;
    *write++ = '\n', *write++ = '{';
    for (int i = 0; i < NUMBERS; i++) {
        const uint8_t kind = byte_of(&in);
        values[i] = real_of(&in);
        sources[i] = i == 23 ? &speed : i >= 10 ? motion + (i - 10) : values + i;
        int decimals = 3 + (kind & 7) + (kind >> 3 & 1) * 2; /* 10 would be a line feed of the template */
        *write++ = (char)(decimals == 10 ? 12 : decimals);
        *write++ = ',';
    }
    *write++ = '}', *write++ = '\n';
    pressure = values[7];
    const int64_t length = write - template, room = length + 21 * NUMBERS;
    char *out = malloc((size_t)room), *exact = malloc((size_t)length);
    memcpy(exact, template, (size_t)length);
    ib_text text = {exact, length, sources, last, values, values + 4, values + 7, motion, &pressure, &speed, 1.225, values[3], out};
    const int64_t written = ib_state_text(&text);
    MUST(written > length && written <= room && out[1] == '{' && out[written - 1] == '\n');
    int64_t commas = 0;
    for (int64_t i = 2; i < written - 2; i++) {
        MUST((out[i] >= '0' && out[i] <= '9') || out[i] == ',' || out[i] == '-' || out[i] == '.');
        commas += out[i] == ',';
    }
    MUST(commas == NUMBERS);
    for (int i = 0; i < NUMBERS; i++) MUST(last[i] - last[i] == 0);
    free(values), free(last), free(out), free(exact);
    return 0;
}
