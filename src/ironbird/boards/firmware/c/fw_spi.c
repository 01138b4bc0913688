/* SPI masters [RM0090] 28 with chips behind chip selects: a frame takes its bits at the bus clock.  Eight and sixteen
 * bits.  Not modelled: slave mode, CRC, I2S, polarity and phase (every chip is read as if they fit). */
enum { SPI_CR1, SPI_CR2, SPI_SR, SPI_DR };

static fw_device *fw_spi_chip(fw_machine *m, uint32_t row) {
  for (uint32_t i = 0; i < m->devices; i++) {
    fw_device *d = &m->device[i];
    if (d->is_spi && d->peripheral == row) {
      uint32_t port = fw_row_of(m, FW_GPIO, d->select_pin / 16);
      if (port != FW_PERIPHERALS && !(m->s.p[port].r[5] >> d->select_pin % 16 & 1)) return d;
    }
  }
  return 0;
}

static void fw_select(fw_machine *m, uint32_t pin, uint32_t level) {
  for (uint32_t i = 0; i < m->devices; i++) {
    fw_device *d = &m->device[i];
    if (!d->is_spi || d->select_pin != pin || m->s.p[d->peripheral].dead) continue;
    if (level) ib_operations_of(d->chip)->spi_end(d->model);
    else ib_operations_of(d->chip)->spi_begin(d->model, (int64_t)fw_ns(m, m->s.now));
  }
}

static uint32_t fw_spi_byte(fw_device *d, uint32_t value) {
  if (!d) return 0xFF;
  const ib_operations *o = ib_operations_of(d->chip);
  uint32_t got = (uint32_t)o->spi_peek(d->model) & 0xFF;
  o->spi_commit(d->model);
  o->spi_byte(d->model, value);
  return got;
}

static void fw_spi_irq(fw_machine *m, uint32_t row) {
  fw_peripheral *p = &m->s.p[row];
  uint32_t sr = p->r[SPI_SR], c = p->r[SPI_CR2];
  if ((c & 0x80 && sr & 2) || (c & 0x40 && sr & 1) || (c & 0x20 && sr & 0x40)) fw_line_irq(m, row);
}

static void fw_spi_feed(fw_machine *m, uint32_t row) {
  fw_peripheral *p = &m->s.p[row];
  if (!(p->r[SPI_CR1] & 0x40)) return;
  while (1) {
    if (!p->step && p->left) {
      p->shift = p->r[SPI_DR + 60];
      p->left = 0;
      p->step = 1;
      uint64_t bits = p->r[SPI_CR1] & 0x800 ? 16 : 8;
      fw_at(m, row, m->s.now + (bits << ((p->r[SPI_CR1] >> 3 & 7) + 1)) * fw_bus_q(m, m->row[row].bus));
      p->r[SPI_SR] |= 2 | 0x80; /* TXE, BSY */
    }
    if (p->left || !(p->r[SPI_CR2] & 2) || !fw_dma_ask(m, row, 1)) break;
  }
  fw_spi_irq(m, row);
}

static void fw_spi_event(fw_machine *m, uint32_t row) {
  fw_peripheral *p = &m->s.p[row];
  m->s.next[row] = FW_NEVER;
  p->step = 0;
  fw_device *d = fw_spi_chip(m, row);
  uint32_t got = p->r[SPI_CR1] & 0x800 ? fw_spi_byte(d, p->shift >> 8 & 0xFF) << 8 : 0;
  got |= fw_spi_byte(d, p->shift & 0xFF);
  if (p->r[SPI_SR] & 1) p->r[SPI_SR] |= 0x40; /* OVR */
  p->r[SPI_DR] = got;
  p->r[SPI_SR] |= 1;
  if (!p->left) p->r[SPI_SR] &= ~0x80u;
  if (p->r[SPI_CR2] & 1) fw_dma_ask(m, row, 0);
  fw_spi_feed(m, row);
}

static uint32_t fw_spi_read(fw_machine *m, uint32_t row, uint32_t o) {
  fw_peripheral *p = &m->s.p[row];
  if (o == 12) p->r[SPI_SR] &= ~0x41u;
  return p->r[o >> 2];
}

static void fw_spi_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) {
  fw_peripheral *p = &m->s.p[row];
  if (o == 12) {
    p->r[SPI_DR + 60] = v;
    p->left = 1;
    p->r[SPI_SR] &= ~2u;
  } else if (o != 8) p->r[o >> 2] = v;
  fw_spi_feed(m, row);
}
