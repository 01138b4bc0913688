/* Every byte that a client can send to a chip, as in fuzz/targets/chip_bus.py: a request on the wires of SPI is answered as
 * the same request without wires, and no request touches anything but the chip. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void *chips[CHIP_COUNT][2];
    if (size < 2) return 0;
    const int64_t number = data[0] % CHIP_COUNT;
    const int bus = CHIP_BUSES[number][(data[0] >> 5) % CHIP_BUS_COUNT[number]];
    void **pair = chips[number];
    for (int i = 0; i < 2; i++) {
        if (!pair[i]) pair[i] = malloc((size_t)ib_chip_size(number));
        memset(pair[i], 0, (size_t)ib_chip_size(number));
        ib_chip_start(number, pair[i], CHIP_POWERED_NS);
    }
    const ib_operations *o = ib_operations_of(number);
    int64_t t = 0;
    size_t at = 1;
    if (bus == IB_UART) {
        for (; at < size; at++) {
            t += (at - 1) & 15 ? 90000 : 300000000;
            ib_uart_byte(number, pair[0], t, data[at]);
            const int64_t out = ib_uart_next(number, pair[0], t);
            MUST(out >= -1 && out < 256);
        }
        MUST(ib_uart_baud(number, pair[0]) >= 0 && ib_frame_bits(ib_uart_frame(number, pair[0])) <= 12);
        return 0;
    }
    ib_spi spi = {{0}};
    ib_i2c i2c = {{0}};
    spi.was_cs = spi.cs.before = spi.sck.before = spi.mosi.before = spi.miso.before = 1;
    i2c.was_scl = i2c.was_sda = i2c.scl.before = i2c.sda.before = i2c.count = 1;
    ib_i2c_attach(&i2c, 0, number, pair[0]);
    while (at < size) {
        const uint8_t head = data[at];
        int64_t length = 1 + (head & 15);
        const uint8_t *sent = data + at + 1;
        int64_t there = (int64_t)(size - at) - 1;
        there = there < length ? there : length;
        at += 1 + (size_t)length;
        t += 1 + (int64_t)head * 7919 * length % 3000000;
        uint8_t got[16] = {0}, same[16] = {0}, record[16 * 16 + 3];
        if (bus == IB_SPI && there > 0) {
            const int64_t slots = ib_spi_transfer(&spi, number, pair[0], t, sent, got, there, record);
            MUST(slots == 16 * there + 3);
            ib_spi_bytes(o, pair[1], t, sent, same, there);
            MUST(!memcmp(got, same, sizeof got));
        } else if (bus == IB_I2C) {
            const int64_t wanted = head >> 4, address = head != 0xEE ? CHIP_ADDRESS[number] : head & 0x7F;
            const int64_t error = ib_i2c_transfer(&i2c, t, address, sent, there > 0 ? there : 0, got, wanted);
            MUST(error == IB_OK || error == IB_NACK || error == IB_TIMEOUT || error == IB_BUSY);
        }
    }
    return 0;
}
