/* DMA controllers with eight streams [RM0090] 10: a request moves one item at once.  The table says which stream and
 * channel a peripheral can ask.  Not modelled: FIFO and bursts (items go one by one), bus load, double buffers' CT. */
static const uint8_t fw_dma_shift[4] = {0, 6, 16, 22};

static void fw_dma_flag(fw_machine *m, uint32_t row, uint32_t stream, uint32_t flag) { /* 2 half, 3 complete; 1 error */
  fw_peripheral *p = &m->s.p[row];
  p->r[stream / 4] |= 1u << (fw_dma_shift[stream % 4] + 2 + flag);
  uint32_t cr = p->r[4 + 6 * stream];
  static const uint32_t enable[4] = {2, 4, 8, 16};
  static const uint8_t irqs[2][8] = {{11, 12, 13, 14, 15, 16, 17, 47}, {56, 57, 58, 59, 60, 68, 69, 70}};
  if (cr & enable[flag]) fw_raise(m, irqs[m->row[row].number == 2][stream]);
}

/* Bytes of an item by its code; 3 is reserved, and taken for a word. */
static uint32_t fw_dma_width(uint32_t code) { return 1u << (code < 3 ? code : 2); }

static int fw_dma_move(fw_machine *m, uint32_t row, uint32_t stream) {
  fw_peripheral *p = &m->s.p[row];
  uint32_t *r = &p->r[4 + 6 * stream], cr = r[0], width = fw_dma_width(cr >> 11 & 3), inside = fw_dma_width(cr >> 13 & 3);
  uint32_t total = p->r[64 + stream], done = total - r[1];
  uint32_t far = r[2] + (cr & 0x200 ? done * width : 0), near = r[3] + (cr & 0x400 ? done * inside : 0);
  uint32_t from = (cr >> 6 & 3) == 1 ? near : far, to = (cr >> 6 & 3) == 1 ? far : near;
  uint32_t value = fw_bus_read(m, from, (cr >> 6 & 3) == 1 ? inside : width), left = --r[1];
  if (!left) { /* counted before the write: what is written to may ask at once for the next */
    if (cr & 0x100) r[1] = total;
    else r[0] &= ~1u;
  }
  fw_bus_write(m, to, (cr >> 6 & 3) == 1 ? width : inside, value);
  if (left == total / 2) fw_dma_flag(m, row, stream, 2);
  if (!left) fw_dma_flag(m, row, stream, 3);
  return 1;
}

/* The request row of a peripheral whose stream is on and set to its channel and direction; 0 for none. */
static fw_request *fw_dma_of(fw_machine *m, uint32_t peripheral, uint32_t sends) {
  for (uint32_t i = 0; i < m->requests; i++) {
    fw_request *q = &m->request[i];
    if (q->peripheral != peripheral || q->sends != sends) continue;
    fw_peripheral *p = &m->s.p[q->controller];
    uint32_t cr = p->r[4 + 6 * q->stream];
    if (p->dead || !(cr & 1) || (cr >> 25 & 7) != q->channel || ((cr >> 6 & 3) == 1) != sends || !p->r[5 + 6 * q->stream]) continue;
    return q;
  }
  return 0;
}

/* A peripheral asks; whether an item was moved. */
static int fw_dma_ask(fw_machine *m, uint32_t peripheral, uint32_t sends) {
  fw_request *q = fw_dma_of(m, peripheral, sends);
  return q ? fw_dma_move(m, q->controller, q->stream) : 0;
}

/* Items that its stream has still to move. */
static uint32_t fw_dma_left(fw_machine *m, uint32_t peripheral, uint32_t sends) {
  fw_request *q = fw_dma_of(m, peripheral, sends);
  return q ? m->s.p[q->controller].r[5 + 6 * q->stream] : 0;
}

static void fw_dma_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) {
  fw_peripheral *p = &m->s.p[row];
  if (o == 8 || o == 12) { p->r[(o - 8) / 4] &= ~v; return; }
  if (o < 16 || o >= 0xD0) return;
  uint32_t stream = (o - 16) / 24, field = (o - 16) % 24 / 4, *r = &p->r[4 + 6 * stream];
  uint32_t before = r[0];
  if (field == 0 || !(before & 1)) r[field] = v;
  if (field == 1) r[1] = v & 0xFFFF;
  if (field != 0) return;
  if (before & 1 && !(v & 1)) fw_dma_flag(m, row, stream, 3); /* stopped on its way: NDTR says where, TCIF that it ended */
  if ((v & 1) && !(before & 1)) {
    p->r[64 + stream] = r[1];
    if ((v >> 6 & 3) == 2) { /* memory to memory: at once */
      for (uint32_t n = r[1]; n; n--) fw_dma_move(m, row, stream);
      return;
    }
    for (uint32_t i = 0; i < m->requests; i++) /* whoever waits for it asks again */
      if (m->request[i].controller == row && m->request[i].stream == stream && m->request[i].channel == (v >> 25 & 7)) {
        uint32_t other = m->request[i].peripheral;
        if (m->row[other].kind == FW_USART) fw_usart_feed(m, other);
        if (m->row[other].kind == FW_SPI) fw_spi_feed(m, other);
        if (m->row[other].kind == FW_I2C) fw_i2c_feed(m, other);
      }
  }
}
