/* Pulse outputs and pins of the board under /sys/class/pwm and /sys/class/gpio, as Linux has them: a number written to
 * `export` makes the folder of an output, and every write to one of its files acts at once, from wherever in the file.
 *
 * The files are plain ones in the run's folder, so that any way of reading finds them; what is written goes to the
 * board's memory first, which refuses what the kernel would refuse.  Not there: `edge` and `active_low` of pins (nothing
 * outside moves an input: it reads 0), pins as /dev/gpiochipN, and writes that the C library makes for a stream that it
 * got as a descriptor (fdopen). */

enum { A_PULSE_EXPORT, A_PULSE_UNEXPORT, A_PERIOD, A_DUTY, A_ENABLE, A_POLARITY, A_PIN_EXPORT, A_PIN_UNEXPORT, A_DIRECTION, A_VALUE };
#define SYSFS_PULSES "/sys/class/pwm/"
#define SYSFS_PINS "/sys/class/gpio/"
#define SHORT_TEXT 64

static int in_sysfs(const char *path)
{
    return (board->pulses && !strncmp(path, SYSFS_PULSES, strlen(SYSFS_PULSES))) || (board->pins && !strncmp(path, SYSFS_PINS, strlen(SYSFS_PINS)));
}

static int pulse_at(int chip, int channel)
{
    for (int i = 0; i < board->pulses; i++)
        if (board->pulse[i].chip == chip && board->pulse[i].channel == channel) return i;
    return -1;
}

/* Which file of an output or pin a path names; its number is that of the pulse, the chip of pulses, or the pin. */
static int find_attribute(const char *path, bus_file *out)
{
    static const char *const of_pulse[] = {"period", "duty_cycle", "enable", "polarity"}, *const of_pin[] = {"direction", "value"};
    int number, channel;
    char last[16] = "";
    *out = (bus_file){.kind = B_SYSFS};
    if (!path || !in_sysfs(path)) return 0;
    if (sscanf(path, SYSFS_PULSES "pwmchip%d/pwm%d/%15s", &number, &channel, last) == 3) {
        out->number = (int16_t)pulse_at(number, channel);
        for (int i = 0; i < 4; i++)
            if (!strcmp(last, of_pulse[i])) return out->mode = (uint8_t)(A_PERIOD + i), out->number >= 0;
    } else if (sscanf(path, SYSFS_PULSES "pwmchip%d/%15s", &number, last) == 2) {
        out->number = (int16_t)number;
        out->mode = strcmp(last, "export") ? A_PULSE_UNEXPORT : A_PULSE_EXPORT;
        return !strcmp(last, "export") || !strcmp(last, "unexport");
    } else if (sscanf(path, SYSFS_PINS "gpio%d/%15s", &number, last) == 2) {
        out->number = (int16_t)(number - board->first_pin);
        for (int i = 0; i < 2; i++)
            if (!strcmp(last, of_pin[i])) return out->mode = (uint8_t)(A_DIRECTION + i), out->number >= 0 && out->number < board->pins;
    } else if (sscanf(path, SYSFS_PINS "%15s", last) == 1) {
        out->mode = strcmp(last, "export") ? A_PIN_UNEXPORT : A_PIN_EXPORT;
        return !strcmp(last, "export") || !strcmp(last, "unexport");
    }
    return 0;
}

/* A file of the run's folder has a new text; 0 makes it go. */
static void show(const char *text, const char *format, int a, int b)
{
    char path[SHORT_PATH];
    const int n = snprintf(path, sizeof path, "%s", board_folder);
    snprintf(path + n, sizeof path - (size_t)n, format, a, b);
    if (!text) {
        K(SYS_unlink, path);
        return;
    }
    const int f = (int)K(SYS_open, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (f < 0) return;
    K(SYS_write, f, text, strlen(text));
    K(SYS_close, f);
}
static void show_number(int64_t value, const char *format, int a, int b)
{
    char text[SHORT_TEXT];
    snprintf(text, sizeof text, "%lld\n", (long long)value);
    show(text, format, a, b);
}
static void folder_of(int made, const char *format, int a, int b)
{
    char path[SHORT_PATH];
    const int n = snprintf(path, sizeof path, "%s", board_folder);
    snprintf(path + n, sizeof path - (size_t)n, format, a, b);
    if (made) K(SYS_mkdir, path, 0755);
    else K(SYS_rmdir, path);
}

#define OF_PULSE SYSFS_PULSES "pwmchip%d/pwm%d"
static int store_pulse(int what, int number, int64_t value, const char *text)
{
    ib_pulse *p = &board->pulse[number];
    const int chip = (int)p->chip, channel = (int)p->channel;
    if (!p->exported) return ENODEV;
    if (what == A_POLARITY) {
        if (strcmp(text, "normal") && strcmp(text, "inversed")) return EINVAL;
        p->inversed = text[0] == 'i';
        show(p->inversed ? "inversed\n" : "normal\n", OF_PULSE "/polarity", chip, channel);
        return 0;
    }
    if (value < 0) return EINVAL;
    if (what == A_PERIOD) {
        if (value < p->duty_ns || !value) return EINVAL;
        show_number(p->period_ns = value, OF_PULSE "/period", chip, channel);
    } else if (what == A_DUTY) {
        if (value > p->period_ns) return EINVAL;
        show_number(p->duty_ns = value, OF_PULSE "/duty_cycle", chip, channel);
    } else {
        if (value > 1 || (value && !p->period_ns)) return EINVAL;
        show_number(p->enabled = value, OF_PULSE "/enable", chip, channel);
    }
    return 0;
}

static int export_pulse(int chip, int64_t channel, int wanted)
{
    const int i = channel < 0 || channel > 255 ? -1 : pulse_at(chip, (int)channel);
    if (i < 0) return ENODEV;
    ib_pulse *p = &board->pulse[i];
    if (p->exported == wanted) return wanted ? EBUSY : ENODEV;
    static const char *const files[] = {"/period", "/duty_cycle", "/enable", "/polarity"};
    char format[SHORT_TEXT];
    if (wanted) folder_of(1, OF_PULSE, chip, (int)channel);
    for (int k = 0; k < 4; k++) {
        strcpy(format, OF_PULSE);
        strcat(format, files[k]);
        show(!wanted ? 0 : k < 3 ? "0\n" : "normal\n", format, chip, (int)channel);
    }
    if (!wanted) folder_of(0, OF_PULSE, chip, (int)channel);
    *p = (ib_pulse){.chip = p->chip, .channel = p->channel, .exported = wanted};
    return 0;
}

#define OF_PIN SYSFS_PINS "gpio%d"
static int export_pin(int64_t number, int wanted)
{
    const int64_t i = number - board->first_pin;
    if (i < 0 || i >= board->pins) return EINVAL;
    ib_pin *p = &board->pin[i];
    if (p->exported == wanted) return wanted ? EBUSY : EINVAL;
    if (wanted) folder_of(1, OF_PIN, (int)number, 0);
    show(wanted ? "in\n" : 0, OF_PIN "/direction", (int)number, 0);
    show(wanted ? "0\n" : 0, OF_PIN "/value", (int)number, 0);
    if (!wanted) folder_of(0, OF_PIN, (int)number, 0);
    *p = (ib_pin){.exported = wanted};
    return 0;
}

static int store_pin(int what, int number, int64_t value, const char *text)
{
    ib_pin *p = &board->pin[number];
    const int named = number + (int)board->first_pin;
    if (!p->exported) return ENODEV;
    if (what == A_VALUE) {
        if (!p->out) return EPERM;
        if (value < 0) return EINVAL;
        p->value = value != 0;
    } else if (!strcmp(text, "in")) p->out = p->value = 0;
    else if (!strcmp(text, "out") || !strcmp(text, "low")) p->out = 1, p->value = 0;
    else if (!strcmp(text, "high")) p->out = p->value = 1;
    else return EINVAL;
    show(p->out ? "out\n" : "in\n", OF_PIN "/direction", named, 0);
    show_number(p->value, OF_PIN "/value", named, 0);
    return 0;
}

/* A write to one of these files: the count as the kernel gives it, or -1 and an error. */
static ssize_t store(const bus_file *b, const void *from, size_t size)
{
    char text[SHORT_TEXT] = "", *end;
    if (!size || size >= sizeof text) return refused(EINVAL);
    memcpy(text, from, size);
    text[strcspn(text, "\n")] = 0;
    const long long said = strtoll(text, &end, 10);
    const int64_t value = end == text || *end ? -1 : said;
    const int64_t t = now_ns();
    int error;
    ib_board_take(board);
    switch (b->mode) {
    case A_PULSE_EXPORT:
    case A_PULSE_UNEXPORT: error = value < 0 ? EINVAL : export_pulse(b->number, value, b->mode == A_PULSE_EXPORT); break;
    case A_PIN_EXPORT:
    case A_PIN_UNEXPORT: error = export_pin(value, b->mode == A_PIN_EXPORT); break;
    case A_DIRECTION:
    case A_VALUE: error = store_pin(b->mode, b->number, value, text); break;
    default: error = store_pulse(b->mode, b->number, value, text);
    }
    board->requests++;
    ib_board_note(board, t, IB_SYSFS, b->mode, b->number, error, from, (int64_t)size, from, 0);
    ib_board_give(board);
    return error ? refused(error) : (ssize_t)size;
}

static bus_file *attribute_of(int f)
{
    bus_file *b = bus_file_of(f);
    return b && b->kind == B_SYSFS ? b : 0;
}

/* After a file was opened by its path in the run's folder. */
static int opened_attribute(int f, const char *path)
{
    bus_file found;
    if (f >= 0 && f < BUS_FILES && find_attribute(path, &found)) bus_files[f] = found;
    return f;
}

EXPORT ssize_t pwrite(int f, const void *from, size_t size, off_t at)
{
    const bus_file *b = attribute_of(f);
    return b ? store(b, from, size) : REAL(pwrite)(f, from, size, at);
}
EXPORT ssize_t pwrite64(int f, const void *from, size_t size, off64_t at)
{
    const bus_file *b = attribute_of(f);
    return b ? store(b, from, size) : REAL(pwrite64)(f, from, size, at);
}
EXPORT int vdprintf(int f, const char *restrict format, va_list list)
{
    const bus_file *b = attribute_of(f);
    if (!b) return REAL(vdprintf)(f, format, list);
    char text[SHORT_TEXT];
    const int n = vsnprintf(text, sizeof text, format, list);
    return n < 0 ? n : (int)store(b, text, (size_t)n);
}
EXPORT int dprintf(int f, const char *restrict format, ...)
{
    va_list list;
    va_start(list, format);
    const int n = vdprintf(f, format, list);
    va_end(list);
    return n;
}
EXPORT int __vdprintf_chk(int f, int flag, const char *restrict format, va_list list) { return vdprintf(f, format, list); }
EXPORT int __dprintf_chk(int f, int flag, const char *restrict format, ...)
{
    va_list list;
    va_start(list, format);
    const int n = vdprintf(f, format, list);
    va_end(list);
    return n;
}

/* A stream for writing has its own way to us: the C library's would go past. */
static ssize_t stream_store(void *cookie, const char *from, size_t size)
{
    const bus_file b = {.kind = B_SYSFS, .mode = (uint8_t)((uintptr_t)cookie >> 16), .number = (int16_t)(uintptr_t)cookie};
    const ssize_t n = store(&b, from, size);
    return n < 0 ? 0 : n;
}
static FILE *attribute_stream(const char *path, const char *mode)
{
    bus_file found;
    if (!strpbrk(mode, "wa+") || !find_attribute(path, &found)) return 0;
    const uintptr_t cookie = (uintptr_t)found.mode << 16 | (uint16_t)found.number;
    return fopencookie((void *)cookie, "w", (cookie_io_functions_t){.write = stream_store});
}
