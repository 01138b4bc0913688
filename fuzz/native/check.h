/* What harnesses of native readers share. The text of the reader itself stands before this one (fuzz/libfuzzer.py). */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(what)                                               \
    do {                                                         \
        if (!(what)) {                                           \
            fprintf(stderr, "%s: must hold: %s\n", __FILE__, #what); \
            abort();                                             \
        }                                                        \
    } while (0)

/* Bytes of an input, taken from its front; zeros when it is used up */
typedef struct {
    const uint8_t *at, *end;
} input;

static inline int64_t left(const input *i) { return i->end - i->at; }
static inline uint8_t byte_of(input *i) { return i->at < i->end ? *i->at++ : 0; }
static inline uint64_t number_of(input *i, int bytes)
{
    uint64_t value = 0;
    for (int k = 0; k < bytes; k++) value |= (uint64_t)byte_of(i) << 8 * k;
    return value;
}
static inline double real_of(input *i)
{
    const uint64_t bits = number_of(i, 8);
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
