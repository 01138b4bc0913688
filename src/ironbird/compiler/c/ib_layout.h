/* What Python mirrors of the structures behind this text: offsets of fields and sizes, entry by entry until no name is
 * left, so that it can compare them with its own. LAYOUT(entries) goes behind the structures. */
#include <stdint.h>

#define FIELD(type, field) {#type "." #field, (int64_t)__builtin_offsetof(type, field)}
#define SIZE(type) {"sizeof(" #type ")", (int64_t)sizeof(type)}
#define LAYOUT(...)                                                                                        \
    static const struct {                                                                                  \
        const char *name;                                                                                  \
        int64_t value;                                                                                     \
    } ib_layout[] = {__VA_ARGS__};                                                                         \
    __attribute__((visibility("default"))) const char *ib_layout_name(int64_t i)                           \
    {                                                                                                      \
        return i >= 0 && i < (int64_t)(sizeof(ib_layout) / sizeof(ib_layout[0])) ? ib_layout[i].name : 0;  \
    }                                                                                                      \
    __attribute__((visibility("default"))) int64_t ib_layout_value(int64_t i)                              \
    {                                                                                                      \
        return i >= 0 && i < (int64_t)(sizeof(ib_layout) / sizeof(ib_layout[0])) ? ib_layout[i].value : -1; \
    }
