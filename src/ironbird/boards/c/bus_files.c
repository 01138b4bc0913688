/* A board behind the device files of any program: /dev/spidevX.Y, /dev/i2c-N, serial lines, and sysfs (sysfs.c).
 *
 * The library is loaded before the program's own (LD_PRELOAD).  The chips are here, in memory that all processes of the
 * run share (chips/c/ib_board.h), so a request is a function call; or requests go by a socket to models elsewhere.  The
 * time of a request is that of its caller's clock.  Serial lines are sockets to whoever feeds the chips: waiting for
 * them is the kernel's, and their rate is in the shared memory.
 *
 * From the first line on the program cannot set the clock, restart the machine or run as root (host_guard.c), and
 * without virtual time it reaches loopback alone.  Not covered: programs that are linked statically, system calls
 * without the C library. */
#include <linux/i2c-dev.h>
#include <linux/i2c.h>
#include <linux/spi/spidev.h>
#include <sys/sysmacros.h>
#include <termios.h>

#define BUS_FILES 4096
#define SHORT_PATH 512 /* threads of autopilots have small stacks */
enum { B_NONE, B_SPI, B_I2C, B_UART, B_SYSFS };
typedef struct {
    uint8_t kind, mode, bits;
    int16_t number, place; /* of the bus, and select or address; of the device for a serial line */
    uint32_t speed_hz;
} bus_file;
static bus_file bus_files[BUS_FILES];
static struct termios settings[IB_DEVICES];
static ib_board *board;
static char board_folder[PATH_MAX];
static int trace_file = -1, request_file = -1;
static uint8_t request_room[IB_LONGEST], answer_room[IB_LONGEST];

static void stop_with(const char *why)
{
    say("ironbird: ");
    say(why);
    say("\n");
    K(SYS_exit_group, 126);
}

/* The process joins the board, whose file IRONBIRD_BUS_FILES names. */
static void join_board(void)
{
    if (board) return;
    const char *name = getenv("IRONBIRD_BUS_FILES");
    if (!name || strlen(name) > sizeof board_folder - 32) stop_with("IRONBIRD_BUS_FILES names no board");
    if (K(SYS_geteuid) == 0 || K(SYS_getuid) == 0) stop_with("never as root: start it as another user");
    const int f = (int)K(SYS_open, name, O_RDWR | O_CLOEXEC);
    const long mapped = f < 0 ? -1 : K(SYS_mmap, 0, sizeof(ib_board), PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
    if (f >= 0) K(SYS_close, f);
    if (mapped < 0 && mapped > -4096) stop_with("the board's file is not there");
    ib_board *found = (ib_board *)mapped;
    if (found->magic != IB_BOARD_MAGIC || found->size != (int64_t)sizeof(ib_board)) stop_with("the board's file is of another version");
    guard_host((int)found->virtual_time);
    strcpy(board_folder, name);
    *strrchr(board_folder, '/') = 0;
    for (int i = 0; i < IB_DEVICES; i++) settings[i].c_cflag = CS8 | CREAD | CLOCAL;
    board = found;
}
__attribute__((constructor(101))) static void at_start_of_chips(void) { join_board(); }

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec - board->zero_ns;
}

static int refused(int error)
{
    errno = error;
    return -1;
}

/* ---------------------------------------------------------------- requests */

static int local_socket(const char *name, int type)
{
    struct sockaddr_un at = {AF_UNIX, ""};
    if ((size_t)snprintf(at.sun_path, sizeof at.sun_path, "%s/%s", board_folder, name) >= sizeof at.sun_path) return -ENAMETOOLONG;
    const int f = (int)K(SYS_socket, AF_UNIX, type | SOCK_CLOEXEC, 0);
    if (f < 0) return f;
    const int error = (int)K(SYS_connect, f, &at, sizeof at);
    if (!error) return f;
    K(SYS_close, f);
    return error;
}

typedef struct {
    int64_t kind, bus, place, time, count, length;
} bus_request;

/* By the second transport: request and answer are one message each. */
static int64_t by_socket(const bus_request *r, const uint8_t *sent, uint8_t *got)
{
    static struct { bus_request head; uint8_t data[IB_LONGEST]; } out;
    static struct { int64_t status; uint8_t data[IB_LONGEST]; } in;
    if (request_file < 0) {
        request_file = local_socket("bus", SOCK_SEQPACKET);
        if (request_file < 0) return IB_TIMEOUT;
        const int high = (int)K(SYS_fcntl, request_file, F_DUPFD_CLOEXEC, 900);
        if (high >= 0) K(SYS_close, request_file), request_file = high;
    }
    out.head = *r;
    if (r->count > 0) memcpy(out.data, sent, (size_t)r->count); /* without data there may be no address either */
    if (K(SYS_sendto, request_file, &out, sizeof out.head + (size_t)r->count, MSG_NOSIGNAL, 0, 0) < 0) return IB_TIMEOUT;
    long n;
    while ((n = K(SYS_recvfrom, request_file, &in, sizeof in, 0, 0, 0)) == -EINTR) {}
    if (n < 8) return IB_TIMEOUT;
    const int64_t wanted = r->kind == IB_SPI ? r->count : r->length > 0 ? r->length : 0;
    if (in.status == IB_OK && n - 8 != wanted) return IB_TIMEOUT;
    if (in.status == IB_OK && wanted > 0) memcpy(got, in.data, (size_t)wanted);
    return in.status;
}

static char *hex(char *to, const uint8_t *data, int64_t n)
{
    static const char digits[] = "0123456789abcdef";
    for (int64_t i = 0; i < n; i++) {
        if (i) *to++ = ' ';
        *to++ = digits[data[i] >> 4], *to++ = digits[data[i] & 15];
    }
    *to = 0;
    return to;
}

/* A line of the trace, as ironbird.boards.chips.trace has it. */
static void write_trace(const bus_request *r, const char *name, const uint8_t *sent, const uint8_t *got, int64_t error)
{
    static char line[6 * IB_LONGEST + 256];
    static const char *const errors[] = {"", " NACK", " TIMEOUT", " BUSY"};
    char path[PATH_MAX];
    if (trace_file < 0) {
        snprintf(path, sizeof path, "%s/trace.txt", board_folder);
        const int f = (int)K(SYS_open, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
        if (f < 0) return;
        trace_file = (int)K(SYS_fcntl, f, F_DUPFD_CLOEXEC, 901);
        K(SYS_close, f);
    }
    char *to = line + sprintf(line, "%10.6f ms  ", (double)r->time * 1e-6);
    if (r->kind == IB_SPI) {
        to = hex(to + sprintf(to, "SPI%s%s%s ", *name ? "[" : "", name, *name ? "]" : ""), sent, r->count);
        to = hex(to + sprintf(to, " (%lld)  -> ", (long long)r->count), got + 1, r->count - 1);
    } else {
        to = hex(to + sprintf(to, "I2C 0x%02x W[", (int)r->place), sent, r->count);
        to = hex(to + sprintf(to, "] R%lld[", (long long)(r->length > 0 ? r->length : 0)), got, error ? 0 : r->length);
        to += sprintf(to, "]%s", errors[error]);
    }
    *to++ = '\n';
    K(SYS_write, trace_file, line, to - line);
}

/* One request, under the board's lock: 0 or an error of the bus. */
static int64_t ask_held(bus_request r, const uint8_t *sent, uint8_t *got)
{
    if (r.count < 0 || r.count > IB_LONGEST || r.length < IB_QUICK_READ || r.length > IB_LONGEST) return IB_BUSY;
    if (r.kind == IB_SPI && !r.count) return IB_OK;
    int64_t error;
    if (board->by_socket) error = by_socket(&r, sent, got);
    else if (r.kind == IB_SPI) error = ib_board_spi_noted(board, r.time, r.bus, r.place, sent, got, r.count);
    else error = ib_board_i2c_noted(board, r.time, r.bus, r.place, sent, r.count, got, r.length);
    if (board->traced) {
        const char *name = "";
        for (int64_t i = 0; i < board->devices; i++)
            if (r.kind == IB_SPI && board->device[i].kind == IB_SPI && board->device[i].bus == r.bus && board->device[i].select == r.place)
                name = board->device[i].name;
        write_trace(&r, name, sent, got, error);
    }
    return error;
}

/* In real time a request sleeps as long as its bits take on the wires, as in the kernel's drivers: threads of the program
 * meet in the order that they have on a board. In virtual time it takes none. */
#define I2C_HZ 400000 /* fast mode */
#define SPI_HZ 10000000 /* of a program that sets no speed */
static void take_bus_time(int64_t bits, int64_t rate_hz)
{
    if (board->virtual_time || rate_hz <= 0) return;
    const int64_t ns = bits * INT64_C(1000000000) / rate_hz;
    const struct timespec length = {ns / 1000000000, ns % 1000000000};
    K(SYS_nanosleep, &length, 0);
}

static int as_errno(int64_t error) { return error == IB_OK ? 0 : error == IB_NACK ? EREMOTEIO : error == IB_TIMEOUT ? ETIMEDOUT : EBUSY; }

static int i2c_ask(const bus_file *b, int address, const uint8_t *sent, int64_t count, uint8_t *got, int64_t length)
{
    const bus_request r = {IB_I2C, b->number, address, now_ns(), count, length};
    ib_board_take(board);
    const int error = as_errno(ask_held(r, sent, got));
    ib_board_give(board);
    take_bus_time(9 * (error == EREMOTEIO ? 1 : 1 + count + (length > 0 ? length : 0) + (count && length)), I2C_HZ); /* addresses too */
    return error ? refused(error) : 0;
}

/* Messages of one I2C_RDWR: a read directly after a write to the same chip is one request with a repeated start. */
static int i2c_messages(const bus_file *b, struct i2c_rdwr_ioctl_data *all)
{
    if (all->nmsgs > I2C_RDWR_IOCTL_MAX_MSGS) return refused(EINVAL);
    for (uint32_t i = 0; i < all->nmsgs; i++) {
        struct i2c_msg *m = &all->msgs[i], *next = i + 1 < all->nmsgs ? m + 1 : 0;
        if (m->flags & I2C_M_TEN || m->len > IB_LONGEST) return refused(EINVAL);
        int result;
        if (m->flags & I2C_M_RD) result = i2c_ask(b, m->addr, 0, 0, m->buf, m->len ? m->len : IB_QUICK_READ);
        else if (next && next->flags & I2C_M_RD && next->addr == m->addr) result = i2c_ask(b, m->addr, m->buf, m->len, next->buf, next->len ? next->len : IB_QUICK_READ), i++;
        else result = i2c_ask(b, m->addr, m->buf, m->len, 0, 0);
        if (result) return result;
    }
    return (int)all->nmsgs;
}

static int smbus(const bus_file *b, struct i2c_smbus_ioctl_data *s)
{
    uint8_t out[I2C_SMBUS_BLOCK_MAX + 2] = {s->command}, in[I2C_SMBUS_BLOCK_MAX + 2];
    const int reads = s->read_write == I2C_SMBUS_READ, a = b->place;
    int result;
    switch (s->size) {
    case I2C_SMBUS_QUICK: return i2c_ask(b, a, 0, 0, 0, reads ? IB_QUICK_READ : 0);
    case I2C_SMBUS_BYTE:
        if (!reads) return i2c_ask(b, a, out, 1, 0, 0);
        result = i2c_ask(b, a, 0, 0, in, 1);
        if (!result) s->data->byte = in[0];
        return result;
    case I2C_SMBUS_BYTE_DATA:
        if (!reads) return out[1] = s->data->byte, i2c_ask(b, a, out, 2, 0, 0);
        result = i2c_ask(b, a, out, 1, in, 1);
        if (!result) s->data->byte = in[0];
        return result;
    case I2C_SMBUS_WORD_DATA:
    case I2C_SMBUS_PROC_CALL:
        if (!reads || s->size == I2C_SMBUS_PROC_CALL) out[1] = (uint8_t)s->data->word, out[2] = (uint8_t)(s->data->word >> 8);
        if (!reads && s->size == I2C_SMBUS_WORD_DATA) return i2c_ask(b, a, out, 3, 0, 0);
        result = i2c_ask(b, a, out, s->size == I2C_SMBUS_PROC_CALL ? 3 : 1, in, 2);
        if (!result) s->data->word = (uint16_t)(in[0] | in[1] << 8);
        return result;
    case I2C_SMBUS_I2C_BLOCK_DATA:
    case I2C_SMBUS_I2C_BLOCK_BROKEN:
    case I2C_SMBUS_BLOCK_DATA: {
        const int n = s->data->block[0];
        if (n < 1 || n > I2C_SMBUS_BLOCK_MAX || (reads && s->size == I2C_SMBUS_BLOCK_DATA)) return refused(n < 1 || n > I2C_SMBUS_BLOCK_MAX ? EINVAL : EOPNOTSUPP);
        if (reads) {
            result = i2c_ask(b, a, out, 1, in, n);
            if (!result) memcpy(s->data->block + 1, in, (size_t)n);
            return result;
        }
        const int counted = s->size == I2C_SMBUS_BLOCK_DATA;
        uint8_t whole[I2C_SMBUS_BLOCK_MAX + 2] = {s->command, (uint8_t)n};
        memcpy(whole + 1 + counted, s->data->block + 1, (size_t)n);
        return i2c_ask(b, a, whole, 1 + counted + n, 0, 0);
    }
    default: return refused(EOPNOTSUPP);
    }
}

static int i2c_ioctl(bus_file *b, unsigned long request, void *argument)
{
    switch (request) {
    case I2C_SLAVE:
    case I2C_SLAVE_FORCE:
        if ((unsigned long)argument > 0x7F) return refused(EINVAL);
        b->place = (int16_t)(unsigned long)argument;
        return 0;
    case I2C_FUNCS:
        *(unsigned long *)argument = I2C_FUNC_I2C | (I2C_FUNC_SMBUS_EMUL & ~I2C_FUNC_SMBUS_PEC);
        return 0;
    case I2C_SMBUS: return smbus(b, argument);
    case I2C_RDWR: return i2c_messages(b, argument);
    case I2C_TIMEOUT:
    case I2C_RETRIES: return 0;
    case I2C_TENBIT:
    case I2C_PEC: return argument ? refused(EINVAL) : 0;
    default: return refused(ENOTTY);
    }
}

/* Transfers up to one that lets the chip select go are one request. */
static int spi_messages(const bus_file *b, struct spi_ioc_transfer *transfers, unsigned count)
{
    long total = 0;
    for (unsigned first = 0; first < count;) {
        unsigned last = first;
        int64_t n = transfers[first].len;
        while (last + 1 < count && !transfers[last].cs_change) n += transfers[++last].len;
        if (n > IB_LONGEST) return refused(EMSGSIZE);
        const bus_request r = {IB_SPI, b->number, b->place, now_ns(), n, 0};
        uint8_t *const sent = request_room, *const got = answer_room;
        int64_t at = 0;
        ib_board_take(board);
        for (unsigned i = first; i <= last; at += transfers[i++].len) {
            const void *from = (const void *)(uintptr_t)transfers[i].tx_buf;
            if (from) memcpy(sent + at, from, transfers[i].len);
            else memset(sent + at, 0, transfers[i].len);
        }
        const int error = as_errno(ask_held(r, sent, got));
        at = 0;
        for (unsigned i = first; i <= last; at += transfers[i++].len)
            if (transfers[i].rx_buf) memcpy((void *)(uintptr_t)transfers[i].rx_buf, got + at, transfers[i].len);
        ib_board_give(board);
        take_bus_time(8 * n, transfers[first].speed_hz ? transfers[first].speed_hz : b->speed_hz ? b->speed_hz : SPI_HZ);
        if (error) return refused(error);
        total += n;
        first = last + 1;
    }
    return (int)total;
}

static int spi_ioctl(bus_file *b, unsigned long request, void *argument)
{
    if (_IOC_TYPE(request) != SPI_IOC_MAGIC) return refused(ENOTTY);
    if (_IOC_NR(request) == 0) {
        if (_IOC_SIZE(request) % sizeof(struct spi_ioc_transfer)) return refused(EINVAL);
        return spi_messages(b, argument, (unsigned)(_IOC_SIZE(request) / sizeof(struct spi_ioc_transfer)));
    }
    switch (request) {
    case SPI_IOC_RD_MODE: *(uint8_t *)argument = b->mode; return 0;
    case SPI_IOC_WR_MODE: b->mode = *(uint8_t *)argument; return 0;
    case SPI_IOC_RD_MODE32: *(uint32_t *)argument = b->mode; return 0;
    case SPI_IOC_WR_MODE32: b->mode = (uint8_t) * (uint32_t *)argument; return 0;
    case SPI_IOC_RD_LSB_FIRST: *(uint8_t *)argument = 0; return 0;
    case SPI_IOC_WR_LSB_FIRST: return *(uint8_t *)argument ? refused(EINVAL) : 0;
    case SPI_IOC_RD_BITS_PER_WORD: *(uint8_t *)argument = b->bits; return 0;
    case SPI_IOC_WR_BITS_PER_WORD: return *(uint8_t *)argument > 8 ? refused(EINVAL) : 0;
    case SPI_IOC_RD_MAX_SPEED_HZ: *(uint32_t *)argument = b->speed_hz; return 0;
    case SPI_IOC_WR_MAX_SPEED_HZ: b->speed_hz = *(uint32_t *)argument; return 0;
    default: return refused(ENOTTY);
    }
}

/* ---------------------------------------------------------------- serial lines */

/* Codes of rates as the kernel has them: headers of C libraries differ in theirs. */
#define RATE_BITS 0010017u
static const struct { tcflag_t code; int rate; } rates[] = {
    {9, 1200}, {11, 2400}, {12, 4800}, {13, 9600}, {14, 19200}, {15, 38400}, {010001, 57600}, {010002, 115200}, {010003, 230400},
    {010004, 460800}, {010005, 500000}, {010006, 576000}, {010007, 921600}, {010010, 1000000}, {010012, 1500000}, {010013, 2000000},
};
#define OTHER_RATE 010000u /* the number stands elsewhere in the structure */

static void set_rate(int device, const struct termios *wanted)
{
    const tcflag_t c = wanted->c_cflag;
    settings[device] = *wanted;
    board->device[device].serial.frame = (c & PARENB ? (c & PARODD ? 1 : 2) : 0) + (c & CSTOPB ? 4 : 0);
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (rates[i].code == (wanted->c_cflag & RATE_BITS)) board->device[device].serial.baud = rates[i].rate;
}

/* Settings as they are now: another process may have set the rate. */
static const struct termios *settings_now(int device)
{
    struct termios *own = &settings[device];
    tcflag_t code = OTHER_RATE;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (rates[i].rate == board->device[device].serial.baud) code = rates[i].code;
    own->c_cflag = (own->c_cflag & ~RATE_BITS) | code;
    own->c_ispeed = own->c_ospeed = code;
    return own;
}

static bus_file *bus_file_of(int f)
{
    if (f < 0 || f >= BUS_FILES || !bus_files[f].kind) return 0;
    return &bus_files[f];
}
static bus_file *serial_of(int f)
{
    bus_file *b = bus_file_of(f);
    return b && b->kind == B_UART ? b : 0;
}

EXPORT int tcgetattr(int f, struct termios *out)
{
    const bus_file *b = serial_of(f);
    if (!b) return REAL(tcgetattr)(f, out);
    *out = *settings_now(b->number);
    return 0;
}
EXPORT int tcsetattr(int f, int when, const struct termios *wanted)
{
    const bus_file *b = serial_of(f);
    if (!b) return REAL(tcsetattr)(f, when, wanted);
    set_rate(b->number, wanted);
    return 0;
}
EXPORT int tcflush(int f, int what)
{
    if (!serial_of(f)) return REAL(tcflush)(f, what);
    char waste[256];
    while (what != TCOFLUSH && K(SYS_recvfrom, f, waste, sizeof waste, MSG_DONTWAIT, 0, 0) > 0) {}
    return 0;
}
EXPORT int tcdrain(int f) { return serial_of(f) ? 0 : REAL(tcdrain)(f); }
EXPORT int tcsendbreak(int f, int length) { return serial_of(f) ? 0 : REAL(tcsendbreak)(f, length); }
EXPORT int isatty(int f)
{
    if (serial_of(f)) return 1;
    return bus_file_of(f) ? (errno = ENOTTY, 0) : REAL(isatty)(f);
}

struct termios_2 { /* as the kernel has it, with rates as numbers */
    tcflag_t c_iflag, c_oflag, c_cflag, c_lflag;
    cc_t c_line, c_cc[19];
    speed_t c_ispeed, c_ospeed;
};

static int serial_ioctl(const bus_file *b, int f, unsigned long request, void *argument)
{
    struct termios *own = (struct termios *)settings_now(b->number);
    struct termios_2 *two = argument;
    switch (request) {
    case TCGETS: /* the kernel's structure is shorter than the C library's */
        memcpy(argument, own, offsetof(struct termios, c_cc) + 19);
        return 0;
    case TCSETS:
    case TCSETSW:
    case TCSETSF: {
        struct termios wanted = *own;
        memcpy(&wanted, argument, offsetof(struct termios, c_cc) + 19);
        set_rate(b->number, &wanted);
        return 0;
    }
    case _IOR('T', 0x2A, struct termios_2):
        memcpy(two, own, offsetof(struct termios, c_cc) + 19);
        two->c_ispeed = two->c_ospeed = (speed_t)board->device[b->number].serial.baud;
        return 0;
    case _IOW('T', 0x2B, struct termios_2):
    case _IOW('T', 0x2C, struct termios_2):
    case _IOW('T', 0x2D, struct termios_2):
        memcpy(own, two, offsetof(struct termios, c_cc) + 19);
        set_rate(b->number, own);
        if ((two->c_cflag & RATE_BITS) == OTHER_RATE) board->device[b->number].serial.baud = two->c_ospeed;
        return 0;
    case TCFLSH: return tcflush(f, (int)(long)argument);
    case TIOCMGET: *(int *)argument = 0; return 0;
    case TIOCOUTQ: *(int *)argument = 0; return 0;
    case TIOCINQ: return REAL(ioctl)(f, request, argument);
    case TIOCMSET:
    case TIOCMBIS:
    case TIOCMBIC:
    case TIOCEXCL:
    case TIOCNXCL:
    case TCSBRK: return 0;
    default: return refused(ENOTTY);
    }
}

/* ---------------------------------------------------------------- files */

static int number_in(const char *path, const char *before)
{
    const size_t n = strlen(before);
    return !strncmp(path, before, n) && path[n] >= '0' && path[n] <= '9';
}

/* What stands behind a path: 1 ours, 0 not ours, -1 a bus that the board does not have. */
static int find_file(const char *path, bus_file *out)
{
    join_board();
    if (!path || strncmp(path, "/dev/", 5)) return 0;
    for (int64_t i = 0; i < board->pairs; i++)
        if (!strcmp(board->pair[i].file, path)) {
            *out = (bus_file){B_I2C, 0, 8, (int16_t)board->pair[i].number, 0, 400000};
            return 1;
        }
    for (int64_t i = 0; i < board->devices; i++) {
        const ib_device *d = &board->device[i];
        if (d->kind == IB_I2C || strcmp(d->file, path)) continue;
        *out = d->kind == IB_SPI ? (bus_file){B_SPI, 0, 8, (int16_t)d->bus, (int16_t)d->select, 1000000}
                                 : (bus_file){B_UART, 0, 8, (int16_t)i, 0, 0};
        return 1;
    }
    return number_in(path, "/dev/i2c-") || number_in(path, "/dev/spidev") || number_in(path, "/dev/i2c/") ? -1 : 0;
}

static int open_bus(const bus_file *found, int flags)
{
    char name[32];
    int f;
    if (found->kind == B_UART) {
        snprintf(name, sizeof name, "uart%d", found->number);
        f = local_socket(name, SOCK_STREAM | (flags & (O_NONBLOCK | O_NDELAY) ? SOCK_NONBLOCK : 0));
    } else f = (int)K(SYS_open, "/dev/null", O_RDWR | O_CLOEXEC);
    if (f < 0) return refused(-f);
    if (f >= BUS_FILES) {
        K(SYS_close, f);
        return refused(EMFILE);
    }
    if (!(flags & O_CLOEXEC)) K(SYS_fcntl, f, F_SETFD, 0);
    bus_files[f] = *found;
    return f;
}

#define OPEN_BUS(path, flags)                                                                                          \
    bus_file found;                                                                                                    \
    const int here = find_file(path, &found);                                                                          \
    if (here) return here > 0 ? open_bus(&found, flags) : refused(ENOENT)
#define OPEN_MODE(flags)                                                                                               \
    mode_t mode = 0;                                                                                                   \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                             \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode = va_arg(list, mode_t);                                                                                   \
        va_end(list);                                                                                                  \
    }

static const char *mapped(const char *path, char *room);
static int opened_attribute(int f, const char *path);
static ssize_t store(const bus_file *b, const void *from, size_t size);
static int in_sysfs(const char *path);
static FILE *attribute_stream(const char *path, const char *mode);

EXPORT int open(const char *path, int flags, ...)
{
    OPEN_MODE(flags)
    OPEN_BUS(path, flags);
    char room[SHORT_PATH];
    return opened_attribute(REAL(open)(mapped(path, room), flags, mode), path);
}
EXPORT int open64(const char *path, int flags, ...)
{
    OPEN_MODE(flags)
    OPEN_BUS(path, flags);
    char room[SHORT_PATH];
    return opened_attribute(REAL(open64)(mapped(path, room), flags, mode), path);
}
EXPORT int openat(int folder, const char *path, int flags, ...)
{
    OPEN_MODE(flags)
    OPEN_BUS(path, flags);
    char room[SHORT_PATH];
    return opened_attribute(REAL(openat)(folder, mapped(path, room), flags, mode), path);
}
EXPORT int openat64(int folder, const char *path, int flags, ...)
{
    OPEN_MODE(flags)
    OPEN_BUS(path, flags);
    char room[SHORT_PATH];
    return opened_attribute(REAL(openat64)(folder, mapped(path, room), flags, mode), path);
}
EXPORT int __open_2(const char *path, int flags) { return open(path, flags); }
EXPORT int __open64_2(const char *path, int flags) { return open64(path, flags); }

EXPORT int close(int f)
{
    if (bus_file_of(f)) bus_files[f] = (bus_file){0};
    return REAL(close)(f);
}
static int same_bus(int from, int to)
{
    if (to >= 0 && to < BUS_FILES && from >= 0 && from < BUS_FILES && to != from) bus_files[to] = bus_files[from];
    return to;
}
EXPORT int dup(int f) { return same_bus(f, REAL(dup)(f)); }
EXPORT int dup2(int f, int to) { return same_bus(f, REAL(dup2)(f, to)); }
EXPORT int dup3(int f, int to, int flags) { return same_bus(f, REAL(dup3)(f, to, flags)); }

EXPORT int ioctl(int f, unsigned long request, ...)
{
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    bus_file *b = bus_file_of(f);
    if (!b || b->kind == B_SYSFS) return REAL(ioctl)(f, request, argument);
    return b->kind == B_SPI ? spi_ioctl(b, request, argument) : b->kind == B_I2C ? i2c_ioctl(b, request, argument)
                                                                                : serial_ioctl(b, f, request, argument);
}

EXPORT ssize_t read(int f, void *to, size_t size)
{
    bus_file *b = bus_file_of(f);
    if (!b || b->kind == B_UART || b->kind == B_SYSFS) return REAL(read)(f, to, size);
    if (size > IB_LONGEST) return refused(EMSGSIZE);
    if (b->kind == B_I2C) return i2c_ask(b, b->place, 0, 0, to, (int64_t)size) ? -1 : (ssize_t)size;
    struct spi_ioc_transfer one = {.rx_buf = (uintptr_t)to, .len = (uint32_t)size};
    return spi_messages(b, &one, 1);
}
EXPORT ssize_t __read_chk(int f, void *to, size_t size, size_t room) { return read(f, to, size); }
EXPORT ssize_t write(int f, const void *from, size_t size)
{
    bus_file *b = bus_file_of(f);
    if (!b || b->kind == B_UART) return REAL(write)(f, from, size);
    if (b->kind == B_SYSFS) return store(b, from, size);
    if (size > IB_LONGEST) return refused(EMSGSIZE);
    if (b->kind == B_I2C) return i2c_ask(b, b->place, from, (int64_t)size, 0, 0) ? -1 : (ssize_t)size;
    struct spi_ioc_transfer one = {.tx_buf = (uintptr_t)from, .len = (uint32_t)size};
    return spi_messages(b, &one, 1);
}

static int shown(const bus_file *b, struct stat *s)
{
    memset(s, 0, sizeof *s);
    s->st_mode = S_IFCHR | 0660;
    s->st_nlink = 1;
    s->st_uid = (uid_t)K(SYS_getuid), s->st_gid = (gid_t)K(SYS_getgid);
    s->st_rdev = b->kind == B_I2C ? makedev(89, b->number) : b->kind == B_SPI ? makedev(153, b->number * 8 + b->place) : makedev(204, 64 + b->number);
    s->st_blksize = 4096;
    return 0;
}
static int looked(int folder, const char *path, struct stat *s, int flags)
{
    bus_file found;
    const int here = find_file(path, &found);
    if (here) return here > 0 ? shown(&found, s) : refused(ENOENT);
    char room[SHORT_PATH];
    return REAL(fstatat)(folder, mapped(path, room), s, flags);
}
EXPORT int stat(const char *restrict path, struct stat *restrict s) { return looked(AT_FDCWD, path, s, 0); }
EXPORT int lstat(const char *restrict path, struct stat *restrict s) { return looked(AT_FDCWD, path, s, AT_SYMLINK_NOFOLLOW); }
EXPORT int stat64(const char *restrict path, struct stat64 *restrict s) { return stat(path, (struct stat *)s); }
EXPORT int lstat64(const char *restrict path, struct stat64 *restrict s) { return lstat(path, (struct stat *)s); }
EXPORT int fstat(int f, struct stat *s)
{
    const bus_file *b = bus_file_of(f);
    return b && b->kind != B_SYSFS ? shown(b, s) : REAL(fstat)(f, s);
}
EXPORT int fstat64(int f, struct stat64 *s) { return fstat(f, (struct stat *)s); }
EXPORT int __xstat(int version, const char *path, struct stat *s) { return stat(path, s); }
EXPORT int __fxstat(int version, int f, struct stat *s) { return fstat(f, s); }
EXPORT int __xstat64(int version, const char *path, struct stat64 *s) { return stat(path, (struct stat *)s); }
EXPORT int __fxstat64(int version, int f, struct stat64 *s) { return fstat(f, (struct stat *)s); }
EXPORT int access(const char *path, int mode)
{
    bus_file found;
    const int here = find_file(path, &found);
    if (here) return here > 0 ? 0 : refused(ENOENT);
    char room[SHORT_PATH];
    return REAL(access)(mapped(path, room), mode);
}

/* Paths that autopilots have by heart lead into the run's folder. */
static const char *mapped(const char *path, char *room)
{
    join_board();
    if (!path || (strncmp(path, "/fs/", 4) && !in_sysfs(path))) return path;
    snprintf(room, SHORT_PATH, "%s%s", board_folder, path);
    return room;
}
EXPORT int mkdir(const char *path, mode_t mode)
{
    char room[SHORT_PATH];
    return REAL(mkdir)(mapped(path, room), mode);
}
EXPORT DIR *opendir(const char *path)
{
    char room[SHORT_PATH];
    return REAL(opendir)(mapped(path, room));
}
EXPORT int unlink(const char *path)
{
    char room[SHORT_PATH];
    return REAL(unlink)(mapped(path, room));
}
EXPORT int statfs(const char *path, struct statfs *s)
{
    char room[SHORT_PATH];
    return REAL(statfs)(mapped(path, room), s);
}
EXPORT FILE *fopen(const char *restrict path, const char *restrict mode)
{
    char room[SHORT_PATH];
    const char *at = mapped(path, room);
    FILE *const stream = attribute_stream(path, mode);
    return stream ? stream : REAL(fopen)(at, mode);
}
EXPORT FILE *fopen64(const char *restrict path, const char *restrict mode)
{
    char room[SHORT_PATH];
    const char *at = mapped(path, room);
    FILE *const stream = attribute_stream(path, mode);
    return stream ? stream : REAL(fopen64)(at, mode);
}

/* ---------------------------------------------------------------- the network is loopback */

static int is_loopback(const struct sockaddr *a, socklen_t size)
{
    if (!a || size < sizeof(sa_family_t) || (a->sa_family != AF_INET && a->sa_family != AF_INET6)) return 1;
    if (a->sa_family == AF_INET) return size >= sizeof(struct sockaddr_in) && (ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24) == 127;
    return size >= sizeof(struct sockaddr_in6) && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}
EXPORT int connect(int f, const struct sockaddr *a, socklen_t size)
{
    join_board();
    return board->virtual_time || is_loopback(a, size) ? REAL(connect)(f, a, size) : refused(ENETUNREACH);
}
EXPORT int bind(int f, const struct sockaddr *a, socklen_t size)
{
    join_board();
    if (board->virtual_time || is_loopback(a, size)) return REAL(bind)(f, a, size);
    if (a->sa_family == AF_INET && size >= sizeof(struct sockaddr_in)) { /* any address: this one */
        struct sockaddr_in own = *(const struct sockaddr_in *)a;
        own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return REAL(bind)(f, (struct sockaddr *)&own, sizeof own);
    }
    if (size < sizeof(struct sockaddr_in6)) return refused(EINVAL);
    struct sockaddr_in6 own = *(const struct sockaddr_in6 *)a;
    own.sin6_addr = in6addr_loopback;
    return REAL(bind)(f, (struct sockaddr *)&own, sizeof own);
}
EXPORT ssize_t sendto(int f, const void *from, size_t n, int flags, const struct sockaddr *a, socklen_t size)
{
    join_board();
    return board->virtual_time || is_loopback(a, size) ? REAL(sendto)(f, from, n, flags, a, size) : refused(ENETUNREACH);
}
EXPORT ssize_t sendmsg(int f, const struct msghdr *m, int flags)
{
    join_board();
    return board->virtual_time || is_loopback(m->msg_name, m->msg_namelen) ? REAL(sendmsg)(f, m, flags) : refused(ENETUNREACH);
}
EXPORT int clock_settime(clockid_t clock, const struct timespec *at) { return refused(EPERM); }
EXPORT int settimeofday(const struct timeval *at, const struct timezone *zone) { return refused(EPERM); }
EXPORT int stime(const time_t *at) { return refused(EPERM); }
EXPORT int reboot(int how) { return refused(EPERM); }
