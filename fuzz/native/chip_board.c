/* A whole board of chips with twins: requests of every kind, wires that break in every way, chips that lose power.
 *
 * As long as nothing is broken, no wire differs from its twin's.
 *
 * A request of the longest length is 10^5 slots on wires: one in an input, and only in inputs of one size of 64. */
static ib_line *line_of(ib_board *b, uint8_t which)
{
    ib_device *spi = &b->device[0], *uart = &b->device[3];
    ib_pair *pair = &b->pair[0];
    ib_line *all[] = {&spi->spi.cs, &spi->spi.sck, &spi->spi.mosi, &spi->spi.miso, &pair->wires.scl, &pair->wires.sda, &uart->tx, &uart->rx};
    return all[which & 7];
}

static int64_t chip_with(int bus, uint8_t draw)
{
    int64_t fits[CHIP_COUNT], count = 0;
    for (int64_t n = 0; n < CHIP_COUNT; n++)
        for (int k = 0; k < CHIP_BUS_COUNT[n]; k++)
            if (CHIP_BUSES[n][k] == bus) fits[count++] = n;
    return fits[draw % count];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static ib_board *b;
    if (!b) b = calloc(1, sizeof *b);
    input in = {data, data + size};
    memset(b, 0, offsetof(ib_board, chip));
    b->devices = 4, b->pairs = 1, b->hash = 1;
    static const int kinds[4] = {IB_SPI, IB_I2C, IB_I2C, IB_UART};
    for (int i = 0; i < 4; i++) {
        ib_device *d = &b->device[i];
        d->kind = kinds[i], d->chip = chip_with(kinds[i], byte_of(&in)), d->twinned = 1;
        d->first.watch = 1, d->first.slot = -1, d->serial.baud = 9600, d->draw.before = 1, d->draw.key = 7;
        memset(b->chip[i], 0, (size_t)ib_chip_size(d->chip)), memset(b->twin[i], 0, (size_t)ib_chip_size(d->chip));
        d->spi.was_cs = d->twin_spi.was_cs = 1;
        d->tx.before = d->rx.before = 1;
        ib_line *twin[4] = {&d->twin_spi.cs, &d->twin_spi.sck, &d->twin_spi.mosi, &d->twin_spi.miso};
        for (int k = 0; k < 4; k++) twin[k]->before = 1;
    }
    ib_pair *pair = &b->pair[0];
    pair->twinned = 1, pair->count = 2, pair->device[0] = 1, pair->device[1] = 2, pair->first.watch = 1, pair->first.slot = -1;
    ib_i2c *both[2] = {&pair->wires, &pair->twin};
    for (int i = 0; i < 2; i++)
        both[i]->was_scl = both[i]->was_sda = both[i]->scl.before = both[i]->sda.before = 1, both[i]->count = 2;
    for (uint8_t i = 0; i < 8; i++) line_of(b, i)->before = line_of(b, i)->pull = line_of(b, i)->level = 1;
    ib_board_start(b, CHIP_POWERED_NS);
    int64_t t = 0, broken = 0, longest = size % 64 == 41;
    static uint8_t sent[IB_LONGEST], got[IB_LONGEST];
    while (left(&in) > 0) {
        const uint8_t what = byte_of(&in);
        t += 1 + (int64_t)(what >> 3) * 100000 + (what == 0xFF ? 100000000 : 0);
        int64_t count = 0, most = byte_of(&in);
        if ((what & 7) < 3) /* a request: up to 15 bytes as they are, more by repetition */
            for (; count < (most & 15); count++) sent[count] = byte_of(&in);
        if ((what & 7) < 3 && most == 0xFF && longest)
            for (longest = 0; count < IB_LONGEST; count++) sent[count] = sent[count % 16];
        switch (what & 7) {
        case 0: ib_board_spi(b, t, 0, 0, sent, got, count); break;
        case 1: {
            const int64_t d = 1 + (most >> 5 & 1), wanted = byte_of(&in);
            const int64_t address = most >> 6 == 3 ? sent[0] & 127 : CHIP_ADDRESS[b->device[d].chip];
            ib_board_i2c(b, t, 0, address, sent, count, got, wanted < 255 || !longest ? wanted & 15 : IB_LONGEST);
            longest &= wanted < 255;
            break;
        }
        case 2: ib_board_send(b, t, 3, sent, count); break;
        case 3: MUST(ib_board_receive(b, t, 3, got) <= IB_LONGEST); break;
        case 4: {
            ib_line *l = line_of(b, (uint8_t)most);
            const int64_t share = (int64_t)number_of(&in, 4);
            broken = 1;
            switch (most >> 3 & 7) {
            case 0: l->random = share; break;
            case 1: l->flip_low = share; break;
            case 2: l->flip_high = share; break;
            case 3: l->hold = share; break;
            case 4: l->open = share & 1, l->pull = share >> 1 & 1; break;
            case 5: l->shorted = share & 1, l->level = share >> 1 & 1; break;
            default: l->random = l->flip_low = l->flip_high = l->hold = l->open = l->shorted = 0;
            }
            break;
        }
        case 5: {
            double inputs[4 * IB_INPUTS];
            for (int i = 0; i < 4 * IB_INPUTS; i++) inputs[i] = i < (most & 7) ? real_of(&in) : (double)most * i;
            ib_board_tick(b, t, inputs);
            break;
        }
        case 6: broken = 1, ib_board_happens(b, most & 3, t, 1 + (most >> 2 & 1)); break;
        case 7: {
            ib_device *d = &b->device[most & 3];
            const int64_t share = (int64_t)number_of(&in, 4);
            if (most >> 2 == 0) { /* the host's own rate is no fault */
                b->device[3].serial.baud = share & 0xFFFFFF, b->device[3].serial.frame = share >> 24 & 7;
                if ((b->device[3].serial.frame & 3) == 3) b->device[3].serial.frame ^= 1;
                break;
            }
            broken = 1;
            switch (most >> 2 & 7) {
            case 1: d->off = share & 1; break;
            case 2: d->nack = share; break;
            case 3: d->lost = share; break;
            case 4: d->doubled = share; break;
            case 5: d->swapped = share & 1; break;
            default: d->drift = ((double)share / 4294967296.0 - 0.5) * 0.4;
            }
        }
        }
    }
    if (!broken) {
        MUST(pair->first.watch && b->device[0].first.watch);
        for (int i = 1; i < 3; i++) MUST(b->device[i].first.watch);
    }
    return 0;
}
