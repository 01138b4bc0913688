/* What a firmware of others can do to the microcontroller around it: any access to any register, memory or bit band, in any
 * order, with bytes, edges and voltages from outside and time going on. Unicorn's core is not there: what is asked of it is
 * answered with zeros.
 *
 * Nothing outside the machine and its memories is touched, and time never goes back. */
static int opened(int arch, int mode, uc_engine **uc) { return (void)arch, (void)mode, *uc = (uc_engine *)1, 0; }
static int stays(uc_engine *uc) { return (void)uc, 0; }
static int starts(uc_engine *uc, uint64_t a, uint64_t b, uint64_t c, size_t d) { return (void)uc, (void)a, (void)b, (void)c, (void)d, 0; }
static int reads(uc_engine *uc, int which, void *to) { return (void)uc, (void)which, memset(to, 0, 4), 0; }
static int writes(uc_engine *uc, int which, const void *from) { return (void)uc, (void)which, (void)from, 0; }
static int maps(uc_engine *uc, uint64_t a, uint64_t b, uint32_t c, void *d) { return (void)uc, (void)a, (void)b, (void)c, (void)d, 0; }
static int maps_io(uc_engine *uc, uint64_t a, uint64_t b, void *c, void *d, void *e, void *f)
{
    return (void)uc, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, 0;
}
static int hooks(uc_engine *uc, uc_hook_handle *h, int kind, void *call, void *user, uint64_t a, uint64_t b, ...)
{
    return (void)uc, (void)kind, (void)call, (void)user, (void)a, (void)b, *h = 1, 0;
}
static int controls(uc_engine *uc, int what, ...) { return (void)uc, (void)what, 0; }
static int unhooks(uc_engine *uc, uc_hook_handle h) { return (void)uc, (void)h, 0; }
static int protects(uc_engine *uc, uint64_t a, uint64_t b, uint32_t c) { return (void)uc, (void)a, (void)b, (void)c, 0; }

static fw_machine *made;
static uint8_t *memories[MEMORY_COUNT];
static void *chips[4];

static int64_t chip_on(int bus)
{
    for (int64_t n = 0; n < CHIP_COUNT; n++)
        for (int k = 0; k < CHIP_BUS_COUNT[n]; k++)
            if (CHIP_BUSES[n][k] == bus) return n;
    return 0;
}

static void attach(fw_machine *m, uint32_t kind, uint32_t pin, int which)
{
    const int64_t number = chip_on(kind == FW_SPI ? IB_SPI : IB_I2C);
    if (!chips[which]) chips[which] = malloc((size_t)ib_chip_size(number));
    memset(chips[which], 0, (size_t)ib_chip_size(number));
    ib_chip_start(number, chips[which], CHIP_POWERED_NS);
    for (uint32_t i = 0; i < m->rows; i++)
        if (m->row[i].kind == kind) {
            fw_add_device(m, i, kind == FW_SPI, pin, number, chips[which]);
            return;
        }
}

static fw_machine *machine(void)
{
    if (!made) {
        fw_uc.open = opened, fw_uc.close = stays, fw_uc.emu_start = starts, fw_uc.emu_stop = stays, fw_uc.reg_read = reads;
        fw_uc.reg_write = writes, fw_uc.mem_map_ptr = maps, fw_uc.mmio_map = maps_io, fw_uc.hook_add = hooks;
        fw_uc.ctl = controls, fw_uc.hook_del = unhooks, fw_uc.mem_protect = protects;
        for (int i = 0; i < MEMORY_COUNT; i++) memories[i] = calloc(1, MEMORY_TABLE[i].size);
        made = calloc(1, sizeof *made);
        MUST(!fw_open(made, ROW_TABLE, ROW_COUNT, REQUEST_TABLE, REQUEST_COUNT, MEMORY_TABLE, memories, MEMORY_COUNT, 8e6, 3.3, 256,
                      0x08000000u, 0, 0));
        fw_power_on(made, 0);
    }
    /* As it was, without the rings of the serial lines, which are long and empty */
    static fw_state first;
    static int known;
    if (!known) first = made->s, known = 1;
    memcpy(&made->s, &first, offsetof(fw_state, line));
    memcpy(&made->s.adc_V, &first.adc_V, sizeof(fw_state) - offsetof(fw_state, adc_V));
    for (int i = 0; i < 16; i++) {
        fw_line *l = &made->s.line[i];
        l->in_read = l->in_write = l->out_read = l->out_write = l->baud = l->lost = 0, l->free = 0;
    }
    made->devices = made->told = made->flash_open = made->wfi = 0;
    attach(made, FW_SPI, 4, 0);
    attach(made, FW_I2C, 0, 1);
    return made;
}

static uint32_t place(fw_machine *m, input *in)
{
    const uint8_t where = byte_of(in), offset = byte_of(in);
    if (where < 200) return m->row[where % m->rows].base + 4u * (offset & 63) + (offset >> 6);
    if (where < 215) return 0xE000E000u + 16u * offset + (uint32_t)(byte_of(in) & 15);
    if (where < 225) return 0x42000000u + (uint32_t)number_of(in, 4) % 0x02000000u;
    if (where < 235) return 0x22000000u + (uint32_t)number_of(in, 4) % 0x02000000u;
    return m->memory[where % m->memories].base + (uint32_t)number_of(in, 4) % m->memory[where % m->memories].size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fw_machine *m = machine();
    input in = {data, data + size};
    uint64_t before = m->s.now;
    static uint8_t taken[64];
    static double moments[64];
    while (left(&in) > 0) {
        const uint8_t what = byte_of(&in);
        const uint32_t bytes = 1u << (what >> 4 & 3) % 3;
        switch (what & 15) {
        case 0: case 1: case 2: case 3: case 4: {
            const uint32_t at = place(m, &in), value = (uint32_t)number_of(&in, 4);
            if (at >> 25 == 0x42000000u >> 25) fw_write_iobit(m->uc, at - 0x42000000u, bytes, value, m);
            else if (at >> 25 == 0x22000000u >> 25) fw_write_rambit(m->uc, at - 0x22000000u, bytes, value, m);
            else if (at >> 28 == 0xE) fw_write_system(m->uc, at - 0xE0000000u, bytes, value, m);
            else if (at >> 28 == 5) fw_write_far(m->uc, at - 0x50000000u, bytes, value, m);
            else if (at >> 28 == 4) fw_write_io(m->uc, at - 0x40000000u, bytes, value, m);
            else fw_bus_write(m, at, bytes, value);
            break;
        }
        case 5: case 6: case 7: {
            const uint32_t at = place(m, &in);
            if (at >> 25 == 0x42000000u >> 25) fw_read_iobit(m->uc, at - 0x42000000u, bytes, m);
            else if (at >> 25 == 0x22000000u >> 25) fw_read_rambit(m->uc, at - 0x22000000u, bytes, m);
            else if (at >> 28 == 0xE) fw_read_system(m->uc, at - 0xE0000000u, bytes, m);
            else if (at >> 28 == 5) fw_read_far(m->uc, at - 0x50000000u, bytes, m);
            else if (at >> 28 == 4) fw_read_io(m->uc, at - 0x40000000u, bytes, m);
            else fw_bus_read(m, at, bytes);
            break;
        }
        case 8: case 9: /* time goes on, by up to 30 us: a timer without a prescaler has an event at each clock */
            m->s.now += number_of(&in, 2) << (what >> 5);
            m->s.run_until = m->s.now + 1;
            if (m->s.held == 2) fw_reset(m, 1u << 4);
            fw_look(m);
            break;
        case 10: {
            const uint8_t line = byte_of(&in) & 15, *from = in.at;
            const uint32_t count = left(&in) < 32 ? (uint32_t)left(&in) : 32, baud = 1 + (uint32_t)number_of(&in, 3);
            fw_serial_send(m, line, from, count, baud, fw_time_ns(m));
            break;
        }
        case 11: fw_serial_take(m, byte_of(&in), taken, moments, 64); break;
        case 12: fw_drive_pin(m, byte_of(&in), what >> 4 & 3); break;
        case 13: {
            const uint8_t timer = byte_of(&in) % 16, channel = byte_of(&in) % 6;
            fw_capture(m, timer, channel, what >> 4 & 1);
            break;
        }
        case 14: {
            const uint8_t channel = byte_of(&in);
            fw_analog(m, channel, real_of(&in));
            break;
        }
        case 15: {
            const uint32_t e = fw_due(m); /* the core would take it: its registers are stored by unicorn */
            if (e && e < FW_EXCEPTIONS) m->s.pending[e] = 0;
            const uint8_t timer = byte_of(&in) % 16, channel = byte_of(&in) % 6;
            fw_pwm_s(m, timer, channel);
            fw_output_pin(m, byte_of(&in));
            break;
        }
        }
        MUST(m->s.now >= before);
        before = m->s.now;
    }
    return 0;
}
